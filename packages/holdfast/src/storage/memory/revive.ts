// revive: give a failed or cancelled job another life, or a waiting one another time.

import { isTerminal, isWaiting } from '../../job/states.ts'
import type { JobRef, ReviveOptions, ReviveVerdict } from '../storage.ts'
import { blockJob } from './block.ts'
import type { Job } from './data.ts'
import { unblock } from './finish.ts'
import type { Move } from './move.ts'
import { dueAt, goBehind, leaveHeap, refreshGroup, setState, stopWaiting, wait } from './waiting.ts'

export function revive(move: Move, refs: readonly JobRef[], options: ReviveOptions<never>): ReviveVerdict[] {
  return refs.map((ref) => {
    const job = move.find(ref)
    return { verdict: job ? reviveOne(move, job, dueAt(move, options)) : 'not_found' }
  })
}

function reviveOne(move: Move, job: Job, runAt: number): ReviveVerdict['verdict'] {
  if (isWaiting(job.state)) {
    const failing = job.state === 'failing'
    stopWaiting(job)
    goBehind(move, job, runAt)
    wait(move, job, failing)
    return 'moved'
  }
  if (!isTerminal(job.state) || job.state === 'completed') return 'not_revivable'
  if (job.blockers?.some((blocker) => !blocker.done && !move.find(blocker.ref))) return 'not_revivable'
  if (!retakeKey(move, job.chain)) return 'conflict'
  leaveHeap(job.chain)
  job.chain.expiresAt = undefined
  // The blockers count anew; one that has failed is waited for, since somebody asked for this.
  goBehind(move, job, runAt)
  job.failures = 0
  job.reason = undefined
  job.error = undefined
  job.finishedAt = undefined
  job.lease = undefined
  job.cancelReason = undefined
  if (job.group) rejoin(job)
  setState(job, 'blocked')
  if (job.blockers) blockJob(move, job, 'wait')
  else unblock(move, job)
  if (job.group) refreshGroup(move, job.group)
  return 'revived'
}

/** To its old place: groups keep the order of acceptance. */
function rejoin(job: Job): void {
  const group = job.group!
  job.type.groups.set(group.key, job.type.groups.get(group.key) ?? group)
  job.group = job.type.groups.get(group.key)!
  job.group.members.push(job.member!)
}

function retakeKey(move: Move, chain: Job): boolean {
  const { mark } = chain
  if (!mark || mark.shared) return true
  const holder = chain.type.keys.get(mark.key)
  if (holder === mark) return true
  if (holder && (holder.until === Infinity ? holder.job && !move.isGone(holder.job) : move.now < holder.until))
    return false
  if (mark.until <= move.now) return true
  chain.type.keys.set(mark.key, mark)
  if (mark.mode === 'throttle' && mark.until !== Infinity) move.data.marks.push(mark)
  return true
}
