// Which places and lanes a list by place goes along (sql/places.ts).

import { stateCodes } from '../../rules/job/codes.ts'
import type { JobState, ListQuery } from '../../storage.ts'
import type { PlaceCursor } from '../rules/place-cursor.ts'
import type { ListedType } from '../rules/type-registry.ts'
import { type PlaceName, placeNames } from '../sql/places.ts'
import { conditionsOf } from '../sql/search-value.ts'

export interface Lane {
  readonly tid: number
  /** A priority, the code of a state, or the number of an interval; else 0. */
  readonly sub: number
}

const placesByState: Readonly<Record<JobState, readonly PlaceName[]>> = {
  scheduled: ['ready', 'aside'],
  queued: ['ready', 'aside'],
  failing: ['ready', 'aside'],
  processing: ['leases'],
  blocked: ['seldom'],
  failed: ['seldom'],
  cancelled: ['seldom'],
  completed: ['seldom', 'common'],
}

const seldomStates: readonly JobState[] = ['blocked', 'completed', 'failed', 'cancelled']

/**
 * The places to scan, in the order of the list. The search index has all jobs of a `where`, and so have the places of its states.
 * What an index has of other types or groups than those of the query comes last: the completed jobs of all types are one lane, and those
 * that have ended are not in the order of groups.
 */
export function placesOf({ states, of, types, group, order = 'desc' }: ListQuery, isSearch: boolean): PlaceName[] {
  if (isSearch) return ['search']
  const wanted = new Set<PlaceName>((states ?? stateNames).flatMap((state) => placesByState[state]))
  // The first job of a longer chain, whatever the state of the last.
  if (of === 'chains') wanted.add('seldom')
  // Waiting members of a group are aside, and along the index of members are those that run, too.
  if (group !== undefined && (wanted.has('ready') || wanted.has('leases'))) {
    wanted.add('aside').delete('ready')
    wanted.delete('leases')
  }
  const names = placeNames.filter((name) => wanted.has(name))
  if (order === 'asc') return names
  const isLast = (name: PlaceName): boolean =>
    (name === 'common' && (types ?? group) !== undefined) || (name === 'seldom' && group !== undefined)
  return [...names.filter((name) => !isLast(name)).toReversed(), ...names.filter(isLast)]
}

export const hasWhere = ({ where = {} }: ListQuery): boolean => Object.keys(where).length > 0

const stateNames = Object.keys(placesByState) as JobState[]

/** Which of the ready jobs to scan, if their time alone excludes some: a queued job is due, a scheduled one is not. */
export function dueOf({ states }: ListQuery): 'now' | 'later' | undefined {
  if (!states || states.includes('failing')) return undefined
  const isQueued = states.includes('queued')
  if (isQueued === states.includes('scheduled')) return undefined
  return isQueued ? 'now' : 'later'
}

/** The lanes of a place, in the order of the list. @param start leaves out the lanes before it */
export function lanesOf(
  name: PlaceName,
  types: readonly ListedType[],
  query: ListQuery,
  start: PlaceCursor | undefined,
): Lane[] {
  const sign = query.order === 'asc' ? 1 : -1
  const compare = (a: Lane, b: Lane): number => sign * (a.tid - b.tid || subOrder(name) * (a.sub - b.sub))
  const lanes = name === 'common' ? [{ tid: 0, sub: 0 }] : types.flatMap((type) => lanesOfType(name, type, query))
  return lanes.filter((lane) => !start || compare(lane, start) >= 0).toSorted(compare)
}

/** The highest priority is claimed first. */
const subOrder = (name: PlaceName): 1 | -1 => (name === 'ready' ? -1 : 1)

function lanesOfType(name: PlaceName, { tid, priorities }: ListedType, { states, of, where }: ListQuery): Lane[] {
  if (name === 'ready') return priorities.map((sub) => ({ tid, sub }))
  if (name === 'search') return conditionsOf(where!)[0]!.intervals.map((_, sub) => ({ tid, sub }))
  if (name !== 'seldom') return [{ tid, sub: 0 }]
  const isWanted = (state: JobState): boolean =>
    !states || states.includes(state) || (of === 'chains' && state === 'completed')
  return seldomStates.filter(isWanted).map((state) => ({ tid, sub: stateCodes[state] }))
}
