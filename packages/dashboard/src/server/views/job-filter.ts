// A filter of the app as one of the admin handle. Names of types are looked up in the shared counts, so that no list counts by itself.

import type { AdminJobFilter, Clock, NamedType, TypeSummary } from 'holdfast'
import { type Filter, parseFilter } from '../../shared/filter.ts'
import type { JobState } from '../../shared/states.ts'
import { invalid } from '../http/errors.ts'
import type { Counts } from './counts.ts'
import { keyOf } from './overview.ts'

/** Up to so many types a list looks at all of them. So many are named at most if the filter does not name them. */
export const [fewTypes, fewNames] = [50, 100]

/** @throws RequestError 400 with what is wrong */
export function filterOf(text: string): Filter {
  const { filter, errors } = parseFilter(text)
  if (errors.length > 0) throw invalid(errors.join(' '))
  return filter
}

export const typeNames = ({ types }: Counts): NamedType[] => types.map(({ face, name }) => ({ face, name }))

/** The known types that a filter names. Undefined: every type. */
export function namedTypes({ types, face }: Filter, counts: Counts): NamedType[] | undefined {
  if (types.length === 0 && face === undefined) return undefined
  const wanted = new Set(types)
  return typeNames(counts).filter(
    (type) => (face === undefined || type.face === face) && (types.length === 0 || wanted.has(type.name)),
  )
}

/**
 * The types that a list looks at: those that the filter names, without those that had no job in its states when they were counted.
 * Undefined: every type.
 */
export function listedTypes(filter: Filter, counts: Counts): NamedType[] | undefined {
  const { states } = filter
  const named = namedTypes(filter, counts)
  // Counts are some seconds old. Few types are looked at anyway.
  if (states.length === 0 || counts.types.length <= fewTypes) return named
  const isWanted = named && new Set(named.map(keyOf))
  const types = counts.types.filter(
    (type) => (!isWanted || isWanted.has(keyOf(type))) && states.some((state) => countOf(type, state) > 0),
  )
  // To name many costs a storage more than to look at all.
  return types.length > fewNames ? named : typeNames({ ...counts, types })
}

/** A scheduled job is queued once it is due, without a move. */
const countOf = ({ states }: TypeSummary, state: JobState): number =>
  state === 'queued' ? states.queued + states.scheduled : states[state]

export function adminFilter(
  filter: Filter,
  counts: Counts,
  clock: Clock,
  states?: readonly JobState[],
): AdminJobFilter {
  const { group, where, olderThanMs, newerThanMs, createdFrom, createdTo } = filter
  const now = clock.now()
  const from = Math.max(createdFrom ?? 0, newerThanMs === undefined ? 0 : now - newerThanMs)
  const to = Math.min(createdTo ?? Infinity, olderThanMs === undefined ? Infinity : now - olderThanMs)
  const wanted = states ?? filter.states
  const types = namedTypes(filter, counts)
  return {
    ...(types && { types }),
    ...(wanted.length > 0 && { states: wanted }),
    ...(group !== undefined && { group }),
    ...(Object.keys(where).length > 0 && { where }),
    ...(to !== Infinity && { createdTo: Math.max(0, to) }),
    ...(from > 0 && { createdFrom: from }),
  }
}
