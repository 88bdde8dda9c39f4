// nextDueAt: when a claim could yield something. Leases count: their end is when a lost job can be had.

import type { ClaimType } from '../../storage.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { SqliteType } from '../rules/type.ts'

export function nextDueAt(move: SqliteMove, types: readonly ClaimType[]): { at: number; now: number } | undefined {
  let at = Infinity
  for (const { type: name } of types) {
    const type = move.typeOf(name)
    if (!type || type.paused) continue
    at = Math.min(at, firstInLine(move, type, 1), firstLeaseEnd(move, type))
  }
  return at === Infinity ? undefined : { at: Math.max(at, move.now), now: move.now }
}

/** The earliest runAt of those who stand in line, or aside: the first of each priority is looked at. */
export function firstInLine({ session }: SqliteMove, { tid }: SqliteType, line: 0 | 1): number {
  const { firstOfPriority } = session.statements
  let at = Infinity
  let below = 1_000
  for (;;) {
    const first = firstOfPriority.get(tid, line, below) as unknown as [priority: number, runAt: number] | undefined
    if (!first) return at
    below = first[0]
    at = Math.min(at, first[1])
  }
}

/** Of those that could be claimed then: not in a paused group. */
function firstLeaseEnd({ session }: SqliteMove, { tid }: SqliteType): number {
  const first = session.statements.firstLease.get(tid) as unknown as [number] | undefined
  return first?.[0] ?? Infinity
}
