// nextDueAt: the earliest instant at which a claim could return a job. It includes the ends of leases, when lost jobs are due.

import type { ClaimType, NextDue } from '../storage.ts'
import { dueByLimits } from '../rules/limits.ts'
import type { TypeData } from './data.ts'
import type { MemoryMove } from './move.ts'
import { promote } from './place.ts'

export function nextDueAt(move: MemoryMove, types: readonly ClaimType[]): NextDue | undefined {
  const { now } = move
  let at = Infinity
  for (const wanted of types) {
    const type = move.data.types.get(wanted.type)
    if (!type || type.paused) continue
    promote(move.data, type, move.now)
    const first = { waiting: firstWaiting(type, now), leaseEnd: firstLeaseEnd(type) }
    at = Math.min(
      at,
      dueByLimits(wanted, type.flow, first, () => move.runningOf(type), now),
    )
  }
  return at === Infinity ? undefined : { at: Math.max(at, now), now }
}

function firstWaiting({ ready, later, ring }: TypeData, now: number): number {
  const isDue = ready.some(({ jobs }) => jobs.peek() !== undefined)
  return Math.min(isDue ? now : (later.peek()?.runAt ?? Infinity), ring.peek()?.turnAt ?? Infinity)
}

/** The first end of a lease whose job could be claimed then: jobs of paused groups could not. */
export function firstLeaseEnd({ leases }: TypeData): number {
  const first = leases.peek()
  if (!first?.group?.paused) return first?.lease!.until ?? Infinity
  let at = Infinity
  for (const job of leases) if (!job.group?.paused) at = Math.min(at, job.lease!.until)
  return at
}
