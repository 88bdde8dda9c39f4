// nextDueAt: when a claim could yield something. Leases count: their end is when a lost job can be had.

import type { ClaimType } from '../storage.ts'
import type { Move } from './move.ts'
import { promote } from './waiting.ts'

export function nextDueAt(move: Move, types: readonly ClaimType[]): { at: number; now: number } | undefined {
  let at = Infinity
  for (const { type: name } of types) {
    const type = move.data.types.get(name)
    if (!type || type.paused) continue
    promote(type, move.now)
    for (const { jobs } of type.ready) if (jobs.size > 0) at = Math.min(at, move.now)
    at = Math.min(at, type.later.peek()?.runAt ?? Infinity, type.leases.peek()?.leaseUntil ?? Infinity)
  }
  return at === Infinity ? undefined : { at, now: move.now }
}
