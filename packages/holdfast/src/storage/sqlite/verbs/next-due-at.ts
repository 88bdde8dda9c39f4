// nextDueAt: the earliest instant at which a claim could return a job. It includes the ends of leases, when lost jobs are due.

import type { ClaimType, NextDue } from '../../storage.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { SqliteType } from '../rules/type.ts'

export function nextDueAt(move: SqliteMove, types: readonly ClaimType[]): NextDue | undefined {
  let at = Infinity
  for (const { type: name } of types) {
    const type = move.typeOf(name)
    if (!type || type.paused) continue
    at = Math.min(at, firstRunAt(move, type, 1), firstLeaseEnd(move, type))
  }
  return at === Infinity ? undefined : { at: Math.max(at, move.now), now: move.now }
}

/** The earliest runAt of the jobs that are ready (1) or aside (0): the index has the first one of each priority. */
export function firstRunAt({ set }: SqliteMove, { tid }: SqliteType, ready: 0 | 1): number {
  const { firstOfPriority } = set.statements
  let at = Infinity
  let below = 1_000
  for (;;) {
    const first = firstOfPriority.get(tid, ready, below) as unknown as [priority: number, runAt: number] | undefined
    if (!first) return at
    below = first[0]
    at = Math.min(at, first[1])
  }
}

/** The first end of a lease whose job could be claimed then: jobs of paused groups could not. */
function firstLeaseEnd({ set }: SqliteMove, { tid }: SqliteType): number {
  const first = set.statements.firstLease.get(tid) as unknown as [number] | undefined
  return first?.[0] ?? Infinity
}
