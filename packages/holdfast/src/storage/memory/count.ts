// count: every call keeps the counts up to date, so reading them costs the same at any backlog.

import type { CountQuery, Counts, TypeCounts } from '../storage.ts'
import { isKnown } from '../rules/count.ts'
import { groupUse, slowedUntil, typeUse } from '../rules/limits.ts'
import { nextOfNone, nextStart } from '../rules/next-start.ts'
import { type MemoryJob, TypeData } from './data.ts'
import type { MemoryMove } from './move.ts'
import { firstLeaseEnd } from './next-due-at.ts'
import { promote } from './place.ts'

export function count(move: MemoryMove, query: CountQuery): Counts {
  if (query.types) {
    const types = query.types.map((name) => countType(move, move.data.types.get(name) ?? new TypeData(name), query))
    return { now: move.now, types, ...nextAsked(move, query) }
  }
  const types = [...move.data.types.values()].map((type) => countType(move, type, query)).filter(isKnown)
  return { now: move.now, types, ...nextAsked(move, query) }
}

function nextAsked(move: MemoryMove, { next: query }: CountQuery): Pick<Counts, 'next'> {
  if (!query) return {}
  const type = move.data.types.get(query.type)
  if (!type) return { next: nextOfNone(query, move.now) }
  promote(move.data, type, move.now)
  return { next: nextStart(move, type, query, { leaseEnd: firstLeaseEnd(type), due: type.due }) }
}

function countType(move: MemoryMove, type: TypeData, query: CountQuery): TypeCounts {
  promote(move.data, type, move.now)
  const lost = [...type.leases.prefix((job) => job.lease!.until <= move.now)].length
  const states = { ...type.counts }
  for (const job of goneJobs(move)) if (job.type === type) states[job.state]--
  return {
    type: type.name,
    states,
    due: type.due + lost,
    delayed: states.queued + states.scheduled + states.failing - type.due,
    oldestDueAt: oldest(type),
    paused: type.paused,
    pausedGroups: [...type.groups.values()].flatMap(({ key, paused }) => (paused ? [{ group: key, ...paused }] : [])),
    slowedUntil: slowedUntil(type.flow, move.now),
    ...(query.limits?.type === type.name ? usesOf(move, type, query.limits) : {}),
  }
}

function usesOf(
  move: MemoryMove,
  type: TypeData,
  { limits, groups = [] }: NonNullable<CountQuery['limits']>,
): Pick<TypeCounts, 'limits' | 'groups'> {
  const { now } = move
  return {
    limits: typeUse(limits, type.flow, move.runningOf(type), now),
    groups: groups.map((key) => groupUse(limits, key, move.groupOf(type, key), now)),
  }
}

/** Jobs that have expired and were not swept. A part of a chain may have expired by itself, with its chain, or both. */
function goneJobs(move: MemoryMove): ReadonlySet<MemoryJob> {
  const gone = new Set<MemoryJob>()
  for (const ended of move.data.ended.prefix((job) => job.expiresAt! <= move.now)) {
    for (const job of ended.jobs ?? [ended]) gone.add(job)
  }
  return gone
}

function oldest(type: TypeData): number | undefined {
  let at = type.asideDue.peek()?.runAt ?? Infinity
  for (const { jobs } of type.ready) at = Math.min(at, jobs.peek()?.runAt ?? Infinity)
  return at === Infinity ? undefined : at
}
