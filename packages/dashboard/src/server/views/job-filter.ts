// A filter of the app as one of the admin handle. Names of types are looked up in the shared counts, so that no list counts by itself.

import type { AdminJobFilter, NamedType } from 'holdfast'
import { type Filter, parseFilter } from '../../shared/filter.ts'
import type { JobState } from '../../shared/states.ts'
import { invalid } from '../http/errors.ts'
import type { Clock } from 'holdfast'
import type { Counts } from './counts.ts'

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

export function adminFilter(
  filter: Filter,
  counts: Counts,
  clock: Clock,
  states?: readonly JobState[],
): AdminJobFilter {
  const { group, where, olderThanMs, newerThanMs } = filter
  const wanted = states ?? filter.states
  const types = namedTypes(filter, counts)
  return {
    ...(types && { types }),
    ...(wanted.length > 0 && { states: wanted }),
    ...(group !== undefined && { group }),
    ...(Object.keys(where).length > 0 && { where }),
    ...(olderThanMs !== undefined && { createdTo: clock.now() - olderThanMs }),
    ...(newerThanMs !== undefined && { createdFrom: clock.now() - newerThanMs }),
  }
}
