// recover: takes back lost leases, and attempts over an age.

import type { Ended, Recovered, RecoverRequest } from '../storage.ts'
import { isUnstarted } from './job/ahead.ts'
import { recordAttempt, leaveProcessing } from './job/attempt.ts'
import { endedOf, finish } from './job/finish.ts'
import type { Job, JobType, Move } from './move.ts'
import { moveToBack, wait } from './job/wait.ts'

/** @param held the jobs in processing of a type: as many as workers hold, whatever the backlog */
export function recover(
  move: Move,
  { types, limit, olderThanMs = Infinity }: RecoverRequest,
  held: (type: JobType) => Iterable<Job>,
): Recovered[] {
  const recovered: Recovered[] = []
  for (const name of types) {
    const type = move.typeOf(name)
    const isLost = ({ lease }: Job): boolean => lease!.until <= move.now || move.now - lease!.startedAt > olderThanMs
    for (const job of type ? [...held(type)].filter(isLost) : []) {
      if (recovered.length === limit) return recovered
      recovered.push(takeBack(move, job, []))
    }
  }
  return recovered
}

/**
 * Ends the attempt of a job in processing as stalled. It costs no attempt if the job may not have been started.
 * @param maxAttempts for jobs without one of their own
 */
export function takeBack(move: Move, job: Job, ended: Ended[], maxAttempts = Infinity): Recovered {
  const { attempt } = job
  const { worker, label } = job.lease!
  const costsAttempt = !isUnstarted(job.lease!)
  if (costsAttempt) job.failures++
  move.event(job, 'stalled', job.failures)
  move.abort(job)
  if (job.cancelling) {
    recordAttempt(move, job, 'stalled', 'cancelled')
    finish(move, job, { state: 'cancelled' }, { ended, unblocked: [] })
    ended.push(endedOf(job))
  } else if (costsAttempt && job.failures >= (job.maxAttempts ?? maxAttempts)) {
    recordAttempt(move, job, 'stalled', 'failed')
    finish(move, job, { state: 'failed', reason: 'stalled' }, { ended, unblocked: [] })
    ended.push(endedOf(job))
  } else {
    recordAttempt(move, job, 'stalled', 'queued')
    leaveProcessing(move, job)
    if (costsAttempt) moveToBack(move, job, move.now)
    wait(move, job)
  }
  return { type: job.type.name, id: job.id, worker, attempt, label, state: job.state }
}
