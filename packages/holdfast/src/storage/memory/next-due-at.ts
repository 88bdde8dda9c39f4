// nextDueAt: the earliest instant at which a claim could return a job. It includes the ends of leases, when lost jobs are due.

import type { ClaimType, NextDue } from '../storage.ts'
import type { TypeData } from './data.ts'
import { type MemoryMove, promote } from './move.ts'

export function nextDueAt(move: MemoryMove, types: readonly ClaimType[]): NextDue | undefined {
  let at = Infinity
  for (const { type: name } of types) {
    const type = move.data.types.get(name)
    if (!type || type.paused) continue
    promote(move, type)
    for (const { jobs } of type.ready) if (jobs.peek()) at = Math.min(at, move.now)
    at = Math.min(at, type.later.peek()?.runAt ?? Infinity, firstLeaseEnd(type))
  }
  return at === Infinity ? undefined : { at, now: move.now }
}

/** The first end of a lease whose job could be claimed then: jobs of paused groups could not. */
function firstLeaseEnd({ leases }: TypeData): number {
  const first = leases.peek()
  if (!first?.group?.paused) return first?.lease!.until ?? Infinity
  let at = Infinity
  for (const job of leases) if (!job.group?.paused) at = Math.min(at, job.lease!.until)
  return at
}
