// list, as far as it is the same everywhere: which jobs match a query, their order, and the cursor of a page.

import { invalidArgument } from '../../errors.ts'
import type { ListQuery, Page, RecordPart } from '../storage.ts'
import { matchesWhere } from './search.ts'
import { recordOf, stateOf } from './get.ts'
import { isGone, type Job, type Move, rootOf } from './move.ts'

export type ListKey = readonly [createdAt: number, type: string, id: string]

export const listKeyOf = (job: Job): ListKey => [job.createdAt, job.type.name, job.id]

export function matches(move: Move, job: Job, query: ListQuery): boolean {
  if (isGone(move, job)) return false
  if (query.of === 'chains' && job !== job.chain) return false
  if (query.chain && (job.chain.id !== query.chain.id || job.chain.type.name !== query.chain.type)) return false
  if (query.group !== undefined && job.group?.key !== query.group) return false
  if (query.where && !matchesWhere(job.search, query.where)) return false
  if (query.rootOnly && !isOwnRoot(job)) return false
  if (query.createdFrom !== undefined && job.createdAt < query.createdFrom) return false
  if (query.createdTo !== undefined && job.createdAt >= query.createdTo) return false
  return !query.states || query.states.includes(stateOf(move, query.of === 'chains' ? job.tail : job))
}

function isOwnRoot(job: Job): boolean {
  const { type, id } = rootOf(job)
  return id === job.chain.id && type === job.chain.type.name
}

/** @param found one job more than the limit, if there are more */
export function pageOf(move: Move, query: ListQuery, found: readonly Job[]): Page {
  const parts: readonly RecordPart[] = query.of === 'chains' ? [...(query.parts ?? []), 'tail'] : (query.parts ?? [])
  const items = found.slice(0, query.limit).map((job) => recordOf(move, job, parts))
  if (found.length <= query.limit) return { items }
  return { items, nextCursor: encodeCursor(listKeyOf(found[query.limit - 1]!)) }
}

/** Where a page ends that looks at some jobs only: after all jobs of the instant `last`. `next` is the instant of the first job behind. */
export interface Edge {
  readonly last: number
  readonly next: number
}

/** A page of the jobs before an edge. Undefined: of all. @param found as of pageOf() */
export function pageUpTo(move: Move, query: ListQuery, found: readonly Job[], edge: Edge | undefined): Page {
  const page = pageOf(move, query, found)
  if (!edge || page.nextCursor !== undefined) return page
  return { ...page, nextCursor: encodeCursor(edgeKey(edge, query)) }
}

/** No type has an empty name: the key is before all jobs of its instant. A descending list has passed them. */
const edgeKey = ({ last, next }: Edge, { order }: ListQuery): ListKey => [order === 'asc' ? next : last, '', '']

/** True of the cursor of a page that ended at an edge. */
export const isEdge = ([, type]: readonly [unknown, string?, ...unknown[]]): boolean => type === ''

const encodeCursor = (key: ListKey): string => Buffer.from(JSON.stringify(key)).toString('base64url')

/** The key after which the page begins. @throws TypeError INVALID_ARGUMENT */
export function decodeCursor(cursor: string): ListKey {
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(key) && typeof key[0] === 'number' && typeof key[1] === 'string' && typeof key[2] === 'string') {
      return [key[0], key[1], key[2]]
    }
  } catch {
    // No cursor: refused below.
  }
  throw invalidArgument('cursor', 'the nextCursor of an earlier page', cursor)
}
