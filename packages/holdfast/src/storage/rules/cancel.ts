// cancel: at once what waits; what runs, as the options say.

import { isTerminal } from './job/states.ts'
import type { CancelOptions, CancelVerdict, JobRef } from '../storage.ts'
import { recordAttempt } from './job/attempt.ts'
import { type Aftermath, finish } from './job/finish.ts'
import { find, type Job, type Move } from './move.ts'

export function cancel(move: Move, refs: readonly JobRef[], options: CancelOptions): CancelVerdict[] {
  return refs.map((ref) => {
    const job = find(move, ref)
    if (!job || (options.chains && job !== job.chain)) return { verdict: 'not_found' }
    const after: Aftermath = { ended: [], unblocked: [] }
    const verdict = cancelOne(move, options.chains ? job.tail : job, options, after)
    return after.ended.length > 0 ? { verdict, ended: after.ended } : { verdict }
  })
}

function cancelOne(
  move: Move,
  job: Job,
  { abort, force, reason }: CancelOptions,
  after: Aftermath,
): CancelVerdict['verdict'] {
  if (isTerminal(job.state)) return job.state
  const runs = job.state === 'processing'
  if (runs && !force) {
    if (!abort) return 'processing'
    job.cancelling = true
    job.cancelReason ??= reason
    move.touch(job)
    move.abort(job)
    return 'cancelling'
  }
  if (runs) {
    recordAttempt(move, job, 'cancelled', 'cancelled')
    move.abort(job)
  }
  job.cancelReason = reason
  finish(move, job, { state: 'cancelled' }, after)
  return 'cancelled'
}
