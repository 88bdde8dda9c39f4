// list by place: reads the sorted sets in their order, from where the last page ended. One page looks at a bounded number of
// members and sets, whatever their size.

import type { JobRecord, ListQuery } from '../../../storage.ts'
import type { ScriptRunner } from '../script-runner.ts'
import { decodePlaceCursor, encodePlaceCursor, type PlaceCursor } from './place-cursor.ts'
import { placeSegments } from './place-segments.ts'
import { typesOf } from './scan.ts'
import { searchSegments } from './search-segments.ts'
import { type Found, type ReadRecords, readWindow, type Segment } from './window.ts'

/** Members that a page looks at if a filter may pass over some of them, at least. */
const membersAtOnce = 250
/** Sets that a page looks at, at most. */
const segmentsAtOnce = 500

export async function listByPlace(scripts: ScriptRunner, query: ListQuery, read: ReadRecords): Promise<Found> {
  const cursor = query.cursor === undefined ? undefined : decodePlaceCursor(query.cursor)
  const backwards = query.order !== 'asc'
  const compare = (a: Position, b: Position): number => (backwards ? -1 : 1) * comparePositions(a, b)
  const segments = (await segmentsOf(scripts, query, cursor))
    .filter((segment) => !cursor || isAhead(compare(segment, cursor), cursor))
    .toSorted(compare)
  const [first] = segments
  if (!first) return { found: [] }
  const after = cursor && comparePositions(first, cursor) === 0 ? cursor.place : undefined
  const most = hasFilter(query) ? Math.max(query.limit, membersAtOnce) : query.limit
  const { entries, finished } = await readWindow(scripts, segments.slice(0, segmentsAtOnce), { most, backwards, after })
  const found: JobRecord[] = []
  const size = Math.max(query.limit, 50)
  for (let from = 0; from < entries.length; from += size) {
    const some = entries.slice(from, from + size)
    const records = await read(some.map(({ ref }) => ref))
    for (const [index, entry] of some.entries()) {
      const record = records[index]
      // The entry of a search may be of an earlier life of its id, which has expired and is not swept yet.
      if (record && (entry.createdAt === undefined || entry.createdAt === record.createdAt)) found.push(record)
      const isLast = from + index === entries.length - 1 && finished === segments.length
      if (found.length === query.limit && !isLast) return { found, nextCursor: encodePlaceCursor(entry.segment, entry) }
    }
  }
  if (finished === segments.length) return { found }
  const last = entries.at(-1)
  const isInside = last !== undefined && last.segment === segments[finished]
  return {
    found,
    nextCursor: isInside
      ? encodePlaceCursor(last.segment, last)
      : encodePlaceCursor(segments[finished - 1]!, undefined),
  }
}

async function segmentsOf(
  scripts: ScriptRunner,
  query: ListQuery,
  cursor: PlaceCursor | undefined,
): Promise<readonly Segment[]> {
  if (query.where) return searchSegments(scripts, query.types, query.where, cursor)
  return (await typesOf(scripts, query.types)).flatMap((type) => placeSegments(type, query))
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
  if (a.type !== b.type) return a.type < b.type ? -1 : 1
  return a.order - b.order
}
