// nextDueAt: the earliest instant at which a claim could return a job. It includes the ends of leases, when lost jobs are due.

import type { ClaimType, NextDue } from '../../storage.ts'
import { dueByLimits } from '../../rules/limits.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { SqliteType } from '../rules/type.ts'
import type { WorkingSet } from '../rules/working-set.ts'

export function nextDueAt(move: SqliteMove, types: readonly ClaimType[]): NextDue | undefined {
  const { now } = move
  let at = Infinity
  for (const wanted of types) {
    const type = move.typeOf(wanted.type)
    if (!type || type.paused) continue
    const waiting = Math.min(firstRunAt(move, type, 1), firstTurnAt(move, type))
    const first = { waiting, leaseEnd: firstLeaseEnd(move, type) }
    at = Math.min(
      at,
      dueByLimits(wanted, type.flow, first, () => move.runningOf(type), now),
    )
  }
  return at === Infinity ? undefined : { at: Math.max(at, now), now }
}

/** The earliest instant at which a group has a turn. */
function firstTurnAt({ set }: SqliteMove, { tid, hasGroups }: SqliteType): number {
  if (!hasGroups) return Infinity
  const first = set.statements.firstTurn.get(tid) as unknown as [number] | undefined
  return first?.[0] ?? Infinity
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
    at = Math.min(at, ready === 1 ? firstOfOthers(set, tid, first) : first[1])
  }
}

/** The first runAt of a priority, of the jobs that open claims do not hold. */
function firstOfOthers({ claims, statements }: WorkingSet, tid: number, [priority, runAt]: [number, number]): number {
  const held: number[] = []
  for (const claim of claims.ofType({ tid })) if (claim.priority === priority) held.push(...claim.seqs)
  if (held.length === 0) return runAt
  const first = statements.firstOthers.get(tid, priority, JSON.stringify(held)) as unknown as [number] | undefined
  return first?.[0] ?? Infinity
}

/** The first end of a lease whose job could be claimed then: jobs of paused groups could not. */
export function firstLeaseEnd({ set }: SqliteMove, type: SqliteType): number {
  const first = set.statements.firstLease.get(type.tid) as unknown as [number] | undefined
  return Math.min(first?.[0] ?? Infinity, set.claims.firstEnd(type))
}
