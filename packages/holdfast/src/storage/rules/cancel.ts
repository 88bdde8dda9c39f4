// cancel: ends waiting jobs at once, and running ones as the options say.

import { isTerminal } from './job/states.ts'
import type { CancelOptions, CancelVerdict, JobRef } from '../storage.ts'
import { recordAttempt } from './job/attempt.ts'
import { type Effects, finish } from './job/finish.ts'
import { find, type Job, type Move } from './move.ts'

export function cancel(move: Move, refs: readonly JobRef[], options: CancelOptions): CancelVerdict[] {
  return refs.map((ref) => {
    const job = find(move, ref)
    if (!job || (options.chains && job !== job.chain)) return { verdict: 'not_found' }
    const effects: Effects = { ended: [], unblocked: [] }
    const verdict = cancelOne(move, options.chains ? job.tail : job, options, effects)
    return effects.ended.length > 0 ? { verdict, ended: effects.ended } : { verdict }
  })
}

function cancelOne(
  move: Move,
  job: Job,
  { abort, force, reason }: CancelOptions,
  effects: Effects,
): CancelVerdict['verdict'] {
  if (isTerminal(job.state)) return job.state
  const isRunning = job.state === 'processing'
  if (isRunning && !force) {
    if (!abort) return 'processing'
    job.cancelling = true
    job.cancelReason ??= reason
    move.touch(job)
    move.abort(job)
    return 'cancelling'
  }
  if (isRunning) {
    recordAttempt(move, job, 'cancelled', 'cancelled')
    move.abort(job)
  }
  job.cancelReason = reason
  finish(move, job, { state: 'cancelled' }, effects)
  return 'cancelled'
}
