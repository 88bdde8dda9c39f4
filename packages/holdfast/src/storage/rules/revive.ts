// revive: makes a failed or cancelled job live again, or sets the runAt of a waiting one.

import { isTerminal, isWaiting } from './job/states.ts'
import type { Revival, ReviveOptions, ReviveVerdict } from '../storage.ts'
import { blockJob } from './job/block.ts'
import { unblock } from './job/finish.ts'
import { retakeKey } from './job/key.ts'
import { find, findChain, type Job, type Move } from './move.ts'
import { hasOtherKind } from './job/refuse.ts'
import { dueAt, joinGroup, moveToBack, refreshGroup, releaseHold, reschedule } from './job/wait.ts'

export function revive(move: Move, jobs: readonly Revival[], options: ReviveOptions<unknown>): ReviveVerdict[] {
  return jobs.map((revival) => {
    const job = find(move, revival)
    if (!job) return { verdict: 'not_found' }
    const verdict = isExcluded(job, options) ? 'not_revivable' : reviveOne(move, job, dueAt(move, options))
    if (revival.payload && (verdict === 'revived' || verdict === 'moved')) {
      move.touch(job)
      job.payload = revival.payload
    }
    return { verdict }
  })
}

const isExcluded = ({ state }: Job, { only }: ReviveOptions<unknown>): boolean =>
  (only === 'waiting' && !isWaiting(state)) || (only === 'ended' && !isTerminal(state))

function reviveOne(move: Move, job: Job, runAt: number): ReviveVerdict['verdict'] {
  if (isWaiting(job.state)) {
    reschedule(move, job, runAt)
    return 'moved'
  }
  if (!isTerminal(job.state) || job.state === 'completed') return 'not_revivable'
  if (job.blockers?.some((blocker) => !blocker.done && !findChain(move, blocker.ref))) return 'not_revivable'
  if (hasOtherKind(move, job) || !retakeKey(move, job.chain)) return 'conflict'
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
  releaseHold(move, job)
  move.setState(job, 'blocked')
  // To its old place in the group, which keeps the order of acceptance.
  joinGroup(move, job)
  if (job.blockers) blockJob(move, job, job.onBlockerFailure === 'run' ? 'run' : 'wait')
  else unblock(move, job)
  if (job.group) refreshGroup(move, job.group)
  return 'revived'
}
