// sweep in the reference. With counts to keep, the driver decides which of several chains goes: it reads what is left.

import type { KeepCount, Swept, SweepRequest } from 'holdfast/storage'
import {
  dependentsOf,
  isEnded,
  isGone,
  isGonePart,
  isKept,
  isOverdue,
  isSame,
  type Job,
  must,
  nameOfRef,
  plain,
  same,
  type Seen,
  show,
  tailOf,
  type World,
} from '../reference.ts'
import { endOverdue, forget, noEffects, sameEnded } from './end.ts'

/** More than the universe has. */
const unlimited = 100

/** Without counts it changes nothing that a read shows, but swept jobs are no longer recognised by repeated calls. */
export function sweep(world: World, request: SweepRequest, swept: Swept | undefined, seen: Seen): void {
  const { limit, keep = [] } = request
  endLate(world, limit, swept, seen)
  if (limit < unlimited) return
  if (swept) {
    // Chains that must stay may be beyond a count. Only a call that deleted something may then say that there is more.
    if (keep.length === 0 || swept.jobs === 0) same('more', swept.more, false)
    for (const job of world.jobs.values()) {
      if (isGonePart(world, job)) world.jobs.delete(nameOfRef(job))
      else if (isGone(world, job)) forget(world, job.chain)
    }
  }
  for (const count of keep) deleteBeyond(world, count, seen)
}

/**
 * All jobs whose deadline is over end; of more than the limit, those that the driver chose. One that waits for another of them may
 * fail with it instead: which comes first is the driver's choice.
 */
function endLate(world: World, limit: number, swept: Swept | undefined, seen: Seen): void {
  const effects = noEffects()
  const late = new Set([...world.jobs.values()].filter((job) => isOverdue(world, job) && isShownExpired(job)))
  while (late.size > 0) {
    const first = [...late].find((job) => !isAwaited(job) && !isBehindBlocker(job)) ?? [...late][0]!
    late.delete(first)
    if (isOverdue(world, first)) endOverdue(world, first, effects)
  }
  if (swept) sameEnded(swept.ended, effects.ended)

  function isShownExpired(job: Job): boolean {
    if (!swept) {
      // Without the reply, its record tells. One that is kept for 0 ms is gone.
      const record = seen(job)
      return !record || record.reason === 'expired'
    }
    const shown = swept.ended.find((ended) => isSame(ended, job))
    return shown ? shown.reason === 'expired' : limit >= unlimited
  }

  /** Another one expired although it waits for this one: it came first, or it would have ended with this one, or been unblocked. */
  function isAwaited(job: Job): boolean {
    return dependentsOf(world, job.chain).some((other) => other !== job && late.has(other) && !isUnblocked(other))
  }

  function isBehindBlocker(job: Job): boolean {
    return isUnblocked(job) && [...late].some((other) => dependentsOf(world, other.chain).includes(job))
  }

  /** A job that may run whatever its blocker ends in was unblocked before it expired: that set its runAt. */
  function isUnblocked(job: Job): boolean {
    return job.made.onBlockerFailure === 'run' && seen(job)?.runAt !== job.runAt
  }
}

/**
 * What is left of the ended chains of a type and state is no more than the count, and what was deleted was beyond it. A driver may
 * count chains, or all records of the type in this state; and it may leave a chain whose last job is of another type.
 */
function deleteBeyond(world: World, { type, state, count }: KeepCount, seen: Seen): void {
  const heads = [...world.jobs.values()].filter(
    (job) => job.index === 0 && job.type === type && tailOf(world, job).phase === state && !isKept(world, job),
  )
  // One that expired during the call is gone by itself.
  const deleted = heads.filter((head) => !seen(head) && head.expiresAt > world.now + world.slack)
  // One that this call ended may be counted by it, or by the next one.
  const isOld = (head: Job): boolean => tailOf(world, head).endedIn !== world.moves
  const left = heads.filter((head) => seen(head) && tailOf(world, head).type === type && isOld(head))
  must(
    left.length <= count,
    () => `${left.length} ${state} chains of ${show(type)} are left, expected ${count} at most`,
  )
  for (const gone of deleted) {
    const earlier = left.find((head) => isSweptBefore(world, head, gone))
    must(!earlier, () => `${show(plain(gone))} was swept before ${show(plain(earlier!))}`)
  }
  const records = [...world.jobs.values()].filter((job) => job.type === type && job.phase === state)
  // Longer chains have no order among themselves: any of them may have been the last to go.
  const last = deleted.filter((head) => !deleted.some((other) => isSweptBefore(world, head, other)))
  const numberBefore = (head: Job, counted: readonly Job[]): number =>
    counted.filter(({ chain }) => chain === head || !deleted.includes(chain)).length
  const isBeyond = (head: Job): boolean => numberBefore(head, records) > count || numberBefore(head, heads) > count
  must(
    deleted.length === 0 || last.some(isBeyond),
    () => `${show(deleted.map(plain))} were swept, although fewer had left no more than ${count}`,
  )
  for (const head of deleted) forget(world, head)
}

/** Of two chains of one job: the one that expires first; of two that are kept for ever, the one that ended first. */
function isSweptBefore(world: World, a: Job, b: Job): boolean {
  const isAlone = (head: Job): boolean => isEnded(head) && tailOf(world, head) === head
  if (!isAlone(a) || !isAlone(b)) return false
  return a.expiresAt === Infinity && b.expiresAt === Infinity ? a.finishedAt < b.finishedAt : a.expiresAt < b.expiresAt
}
