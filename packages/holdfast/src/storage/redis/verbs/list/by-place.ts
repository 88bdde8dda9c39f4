// list by place: reads the sorted sets in their order, from where the last page ended. One page looks at a bounded number of
// members and sets, whatever their size.

import { matchesWhere } from '../../../rules/search.ts'
import type { JobRecord, ListQuery, Where } from '../../../storage.ts'
import { packed } from '../../codec/requests.ts'
import { unpackSearch } from '../../codec/search.ts'
import type { ScriptRunner } from '../script-runner.ts'
import { decodePlaceCursor, encodePlaceCursor, type PlaceCursor } from './place-cursor.ts'
import { placeSegments } from './place-segments.ts'
import { typeNamesOf, typesOf } from './scan.ts'
import { fieldOrders, searchSegments } from './search-segments.ts'
import { type Entry, type Found, type ReadRecords, readWindow, type Segment, sizesOf } from './window.ts'

/** Members that a page looks at if a filter may pass over some of them, at least. */
const membersAtOnce = 250
/** Sets, and types, that a page looks at, at most. */
const [segmentsAtOnce, typesAtOnce] = [500, 100]
/** How many times as large the sets of states may be that are read instead of the search index. */
const mostLarger = 4

export async function listByPlace(scripts: ScriptRunner, query: ListQuery, read: ReadRecords): Promise<Found> {
  const cursor = query.cursor === undefined ? undefined : decodePlaceCursor(query.cursor)
  const { where, types } = query
  const isSearch = where !== undefined && (!cursor || cursor.order >= fieldOrders)
  if (!isSearch) return readPage(scripts, query, read, await stateSegments(scripts, query, cursor), cursor)
  const found = { segments: await searchSegments(scripts, types, where, cursor), isAll: true }
  if (cursor || !query.states) return readPage(scripts, query, read, found, cursor)
  const ofStates = await stateSegments(scripts, query, undefined)
  // Of many types the sizes of all sets would have to be read: the index is followed, which is one set per type.
  return ofStates.isAll
    ? readSmaller(scripts, query, read, found.segments, ofStates.segments)
    : readPage(scripts, query, read, found, cursor)
}

/** Segments to read, in no order. Not all: those of further types come after the last of them. */
interface Segments {
  readonly segments: readonly Segment[]
  readonly isAll: boolean
}

/** Of the first types from the cursor on. */
async function stateSegments(
  scripts: ScriptRunner,
  query: ListQuery,
  cursor: PlaceCursor | undefined,
): Promise<Segments> {
  const sign = query.order === 'asc' ? 1 : -1
  const names = (await typeNamesOf(scripts, query.types))
    .filter((name) => !cursor || sign * compareText(name, cursor.type) >= 0)
    .toSorted((a, b) => sign * compareText(a, b))
  const types = await typesOf(scripts, names.slice(0, typesAtOnce))
  return { segments: types.flatMap((type) => placeSegments(type, query)), isAll: names.length <= typesAtOnce }
}

/**
 * The first page of a search in some states. Both the search index and the sets of these states have all its jobs: the smaller
 * one is read. If its first members match too rarely to fill the page, and the other is of a similar size and fills it better, that
 * one is read. The cursor names the one that was read, for the pages that follow.
 */
async function readSmaller(
  scripts: ScriptRunner,
  query: ListQuery,
  read: ReadRecords,
  found: readonly Segment[],
  ofStates: readonly Segment[],
): Promise<Found> {
  if (found.length === 0 || ofStates.length === 0) return { found: [] }
  const sizes = await sizesOf(scripts, [...found, ...ofStates])
  const plans = [
    { segments: found, size: sum(sizes.slice(0, found.length)) },
    { segments: ofStates, size: sum(sizes.slice(found.length)) },
  ].toSorted((a, b) => a.size - b.size)
  const readPlan = ({ segments }: { readonly segments: readonly Segment[] }): Promise<Found> =>
    readPage(scripts, query, read, { segments, isAll: true }, undefined)
  const page = await readPlan(plans[0]!)
  const isFull = page.nextCursor === undefined || page.found.length === query.limit
  if (isFull || plans[1]!.size > plans[0]!.size * mostLarger) return page
  const other = await readPlan(plans[1]!)
  return other.found.length > page.found.length ? other : page
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

async function readPage(
  scripts: ScriptRunner,
  query: ListQuery,
  read: ReadRecords,
  { segments: unordered, isAll }: Segments,
  cursor: PlaceCursor | undefined,
): Promise<Found> {
  const backwards = query.order !== 'asc'
  const compare = (a: Position, b: Position): number => (backwards ? -1 : 1) * comparePositions(a, b)
  const segments = unordered.filter((segment) => !cursor || isAhead(compare(segment, cursor), cursor)).toSorted(compare)
  const [first] = segments
  if (!first) return { found: [] }
  const after = cursor && comparePositions(first, cursor) === 0 ? cursor.place : undefined
  // The state of a chain is that of its tail.
  const states = first.order >= fieldOrders && query.of === 'jobs' ? query.states : undefined
  const most = hasFilter(query) ? Math.max(query.limit, membersAtOnce) : query.limit
  const {
    entries: all,
    finished,
    last,
  } = await readWindow(scripts, segments.slice(0, segmentsAtOnce), {
    most,
    backwards,
    after,
    states,
  })
  const entries = query.where && first.order < fieldOrders ? await withFields(scripts, all, query.where) : all
  const found: JobRecord[] = []
  const size = Math.max(query.limit, 50)
  for (let from = 0; from < entries.length; from += size) {
    const some = entries.slice(from, from + size)
    const records = await read(some.map(({ ref }) => ref))
    for (const [index, entry] of some.entries()) {
      const record = records[index]
      // The entry of a search may be of an earlier life of its id, which has expired and is not swept yet.
      if (record && (entry.createdAt === undefined || entry.createdAt === record.createdAt)) found.push(record)
      const isLast = from + index === entries.length - 1 && finished === segments.length && isAll
      if (found.length === query.limit && !isLast) return { found, nextCursor: encodePlaceCursor(entry.segment, entry) }
    }
  }
  if (finished === segments.length && isAll) return { found }
  return { found, nextCursor: encodePlaceCursor(segments[last ? finished : finished - 1]!, last) }
}

/** The entries whose jobs have the fields. */
async function withFields(scripts: ScriptRunner, entries: readonly Entry[], where: Where): Promise<readonly Entry[]> {
  const [, found] = await scripts.ask('fields', [packed(entries.map(({ ref }) => [ref.type, ref.id]))])
  return entries.filter((_, index) => {
    const bytes = (found as (Buffer | false)[])[index]!
    return bytes !== false && matchesWhere(unpackSearch(bytes), where)
  })
}

/** The segment of the cursor itself is read on, unless it was read to its end. */
const isAhead = (order: number, { place }: PlaceCursor): boolean => order > 0 || (order === 0 && place !== undefined)

/** Beyond types and states, which choose the sets. */
const hasFilter = ({ of, group, where, chain, rootOnly, createdFrom, createdTo }: ListQuery): boolean =>
  of === 'chains' ||
  rootOnly === true ||
  [group, where, chain, createdFrom, createdTo].some((value) => value !== undefined)

type Position = Pick<Segment, 'type' | 'order'>

function comparePositions(a: Position, b: Position): number {
  return compareText(a.type, b.type) || a.order - b.order
}

const compareText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)
