// revive: makes a failed or cancelled job live again, or sets the runAt of a waiting one.

import { isTerminal, isWaiting } from './job/states.ts'
import type { JobRef, ReviveOptions, ReviveVerdict } from '../storage.ts'
import { blockJob } from './job/block.ts'
import { unblock } from './job/finish.ts'
import { retakeKey } from './job/key.ts'
import { find, type Job, type Move } from './move.ts'
import { dueAt, moveToBack, leave, refreshGroup, wait } from './job/wait.ts'

export function revive(move: Move, refs: readonly JobRef[], options: ReviveOptions<unknown>): ReviveVerdict[] {
  return refs.map((ref) => {
    const job = find(move, ref)
    return { verdict: job ? reviveOne(move, job, dueAt(move, options)) : 'not_found' }
  })
}

function reviveOne(move: Move, job: Job, runAt: number): ReviveVerdict['verdict'] {
  if (isWaiting(job.state)) {
    const failing = job.state === 'failing'
    leave(move, job)
    moveToBack(move, job, runAt)
    wait(move, job, failing)
    return 'moved'
  }
  if (!isTerminal(job.state) || job.state === 'completed') return 'not_revivable'
  if (job.blockers?.some((blocker) => !blocker.done && !find(move, blocker.ref))) return 'not_revivable'
  if (!retakeKey(move, job.chain)) return 'conflict'
  move.place(job.chain, 'nowhere')
  job.chain.expiresAt = undefined
  // The blockers are counted again. A failed one is waited for, because the caller asked for this job.
  moveToBack(move, job, runAt)
  job.failures = 0
  job.reason = undefined
  job.error = undefined
  job.finishedAt = undefined
  job.lease = undefined
  job.cancelReason = undefined
  move.setState(job, 'blocked')
  // To its old place in the group, which keeps the order of acceptance.
  if (job.group) move.addMember(job)
  if (job.blockers) blockJob(move, job, 'wait')
  else unblock(move, job)
  if (job.group) refreshGroup(move, job.group)
  return 'revived'
}
