// revive: give a failed or cancelled job another life, or a waiting one another time.

import { isTerminal, isWaiting } from './job/states.ts'
import type { JobRef, ReviveOptions, ReviveVerdict } from '../storage.ts'
import { blockJob } from './job/block.ts'
import { unblock } from './job/finish.ts'
import { retakeKey } from './job/key.ts'
import { find, type Job, type Move } from './move.ts'
import { dueAt, goBehind, leave, refreshGroup, wait } from './job/wait.ts'

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
    goBehind(move, job, runAt)
    wait(move, job, failing)
    return 'moved'
  }
  if (!isTerminal(job.state) || job.state === 'completed') return 'not_revivable'
  if (job.blockers?.some((blocker) => !blocker.done && !find(move, blocker.ref))) return 'not_revivable'
  if (!retakeKey(move, job.chain)) return 'conflict'
  move.place(job.chain, 'nowhere')
  job.chain.expiresAt = undefined
  // The blockers count anew; one that has failed is waited for, since somebody asked for this.
  goBehind(move, job, runAt)
  job.failures = 0
  job.reason = undefined
  job.error = undefined
  job.finishedAt = undefined
  job.lease = undefined
  job.cancelReason = undefined
  move.setState(job, 'blocked')
  // To its old place: groups keep the order of acceptance.
  if (job.group) move.addMember(job)
  if (job.blockers) blockJob(move, job, 'wait')
  else unblock(move, job)
  if (job.group) refreshGroup(move, job.group)
  return 'revived'
}
