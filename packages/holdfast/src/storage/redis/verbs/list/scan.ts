// Reads the jobs of a list by creation from the sets of their states, a window at a time, so that no call holds the server up.
// Invariant: the work is bounded. Of larger sets only a part is read, from the end where new jobs are (of an ascending list: old
// ones), and the list is `truncated`. Of many sets, those are read whose job at that end is the newest. A list of the newest jobs ends
// where the scores of a set are before all of its page.

import type { ListQuery } from '../../../storage.ts'
import { type List, text } from '../../codec/fields.ts'
import { packed } from '../../codec/requests.ts'
import type { ScriptRunner } from '../script-runner.ts'
import { hasPriorities, placeSegments } from './place-segments.ts'
import { bestHeads, type SegmentGroup } from './heads.ts'
import { type Entry, entriesOf, type Segment, sizesOf, type Wanted } from './window.ts'

export interface ListedType {
  readonly type: string
  /** Highest first. */
  readonly priorities: readonly number[]
}

/** Names without repetition. @param names @default every type that has, or had, a job */
export async function typeNamesOf(scripts: ScriptRunner, names?: readonly string[]): Promise<string[]> {
  if (names) return [...new Set(names)]
  const [, found] = await scripts.ask('typeNames', [])
  return (found as List).map((name) => text(name!))
}

/** Types with the priorities of their jobs. @param names without repetition */
export async function typesOf(scripts: ScriptRunner, names: readonly string[]): Promise<ListedType[]> {
  const [, answers] = await scripts.ask('types', [packed(names)])
  return (answers as List[]).map(([type, priorities]) => ({ type: text(type), priorities: priorities as number[] }))
}

type CreatedEntry = Pick<Entry, 'ref' | 'createdAt'>

/** Reads the wanted entries, and maybe others, in no order. */
export type ReadEntries = (wanted: Wanted) => AsyncIterable<readonly CreatedEntry[]>

/** Jobs that a list by creation looks at, at most. */
const mostJobs = 100_000
/** Jobs looked at by one call. */
const jobsAtOnce = 2_000

/** The jobs of the types and states of a query, in no order, some of them twice. */
export async function scanCreated(
  scripts: ScriptRunner,
  query: ListQuery,
): Promise<{ entries: ReadEntries; isTruncated: boolean }> {
  const names = await typeNamesOf(scripts, query.types)
  const types = hasPriorities(query) ? await typesOf(scripts, names) : names.map((type) => ({ type, priorities: [] }))
  const { segments, sizes, isPart } = await chosen(scripts, groupsOf(types, query), query)
  const share = fairShare(sizes, mostScanned(query))
  // A share that one call can read is read together with other segments.
  const isApart = (at: number): boolean => sizes[at]! > share && share > jobsAtOnce
  const together = segments.flatMap((segment, at): SizedSegment[] => {
    if (isApart(at)) return []
    return [sizes[at]! > share ? { segment: { ...segment, most: share }, size: share } : { segment, size: sizes[at]! }]
  })
  // The leases are read first and again in their turn: a job that leaves them while other sets are read could be missed.
  const leases = together.filter(({ segment: { set, most } }) => set === 'leases' && most === undefined)
  const parts = inParts([...leases, ...together])
  const apart = segments.flatMap((segment, at) => (isApart(at) ? [{ segment, size: share }] : []))
  const entries: ReadEntries = (wanted) => readAll(scripts, parts, apart, wanted, query.order !== 'asc')
  return { entries, isTruncated: isPart || sizes.some((size) => size > share) }
}

const mostScanned = ({ maxScanned = mostJobs }: ListQuery): number => Math.min(maxScanned, mostJobs)

/** Types of the same priorities have the same segments: of thousands of types they are made once. */
function groupsOf(types: readonly ListedType[], query: ListQuery): SegmentGroup[] {
  const groups = Map.groupBy(types, ({ priorities }) => priorities.join(' '))
  return [...groups.values()].map((some) => ({
    types: some.map(({ type }) => type),
    segments: placeSegments(some[0]!, query),
  }))
}

/** Segments that are read whatever stands at their ends; and so many at most have their sizes read. */
const [fewSegments, mostSized] = [50, 1_000]

interface Chosen {
  readonly segments: readonly Segment[]
  readonly sizes: readonly number[]
  /** Others have jobs, too. */
  readonly isPart: boolean
}

/**
 * All segments, if all of their jobs may be looked at. Else of many those whose jobs may be on the page: a page of the newest has jobs of
 * at most as many segments as it has jobs, and of those whose newest jobs are the newest, if segments have jobs in the order of their
 * creation. Most do, about.
 */
async function chosen(scripts: ScriptRunner, groups: readonly SegmentGroup[], query: ListQuery): Promise<Chosen> {
  const { limit, order, maxScanned } = query
  // One more job tells that there is another page.
  const most = Math.max(limit + 1, fewSegments)
  const number = groups.reduce((sum, { types, segments }) => sum + types.length * segments.length, 0)
  const isChoice = maxScanned !== undefined && number > most
  if (!isChoice || number <= mostSized) {
    const segments = groups.flatMap(({ types, segments: own }) =>
      types.flatMap((type) => own.map((segment) => ({ ...segment, type }))),
    )
    const sizes = segments.length === 0 ? [] : await sizesOf(scripts, segments)
    const isAll = !isChoice || sizes.reduce((sum, size) => sum + size, 0) <= mostScanned(query)
    if (isAll) return { segments, sizes, isPart: false }
  }
  const { best, filled } = await bestHeads(scripts, groups, { backwards: order !== 'asc', most })
  const sizes = best.length === 0 ? [] : await sizesOf(scripts, best)
  return { segments: best, sizes, isPart: filled > best.length }
}

interface SizedSegment {
  readonly segment: Segment
  /** Members that are read. */
  readonly size: number
}

/** Lists of segments, each as long as one call can read: every call names its segments. */
function inParts(sized: readonly SizedSegment[]): Segment[][] {
  const parts: Segment[][] = []
  let size = Infinity
  for (const next of sized) {
    if (size + next.size > jobsAtOnce) {
      parts.push([])
      size = 0
    }
    parts.at(-1)!.push(next.segment)
    size += next.size
  }
  return parts
}

/** The most that each may have, so that all together have no more than the sum: smaller ones leave their rest to the others. */
function fairShare(sizes: readonly number[], sum: number): number {
  let left = sum
  for (const [index, size] of sizes.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (sizes.length - index))
    if (size > share) return share
    left -= size
  }
  return Infinity
}

async function* readAll(
  scripts: ScriptRunner,
  parts: readonly (readonly Segment[])[],
  apart: readonly SizedSegment[],
  wanted: Wanted,
  backwards: boolean,
): AsyncGenerator<readonly Entry[]> {
  for (const part of parts) yield* entriesOf(scripts, part, jobsAtOnce, wanted, backwards)
  for (const { segment, size } of apart) {
    let left = size
    for await (const entries of entriesOf(scripts, [segment], jobsAtOnce, wanted, backwards)) {
      yield entries
      // Some of those that were read may have been passed over.
      left -= jobsAtOnce
      if (left <= 0) break
    }
  }
}
