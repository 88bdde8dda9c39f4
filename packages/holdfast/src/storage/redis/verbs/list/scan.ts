// Reads the jobs of a list by creation from the sets of their states, a window at a time, so that no call holds the server up.
// Invariant: the work is bounded. Of larger sets only a part is read, from the end where new jobs are (of an ascending list: old
// ones), and the list is `truncated`. A list of the newest jobs ends where the scores of a set are before all of its page.

import type { ListQuery } from '../../../storage.ts'
import { type List, text } from '../../codec/fields.ts'
import { packed } from '../../codec/requests.ts'
import type { ScriptRunner } from '../script-runner.ts'
import { placeSegments } from './place-segments.ts'
import { type Entry, entriesOf, type PassedOver, type Segment, sizesOf } from './window.ts'

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

/** Reads all entries, in no order. @param passed without those that are passed over */
export type ReadEntries = (passed?: PassedOver) => AsyncIterable<readonly CreatedEntry[]>

/** Jobs that a list by creation looks at, at most. */
const mostJobs = 100_000
/** Jobs looked at by one call. */
const jobsAtOnce = 2_000

/** The jobs of the types and states of a query, in no order, some of them twice. */
export async function scanCreated(
  scripts: ScriptRunner,
  query: ListQuery,
): Promise<{ entries: ReadEntries; isTruncated: boolean }> {
  const types = await typesOf(scripts, await typeNamesOf(scripts, query.types))
  const segments = types.flatMap((type) => placeSegments(type, query))
  const sizes = segments.length === 0 ? [] : await sizesOf(scripts, segments)
  const share = fairShare(sizes, mostJobs)
  const [whole, large] = [
    segments.filter((_, at) => sizes[at]! <= share),
    segments.filter((_, at) => sizes[at]! > share),
  ]
  // The leases are read first and again in their turn: a job that leaves them while other sets are read could be missed.
  const leases = whole.filter(({ set }) => set === 'leases').map((segment) => ({ ...segment }))
  const limited = large.map((segment) => ({ segment, most: share }))
  const entries: ReadEntries = (passed) =>
    readAll(scripts, [...leases, ...whole], limited, query.order !== 'asc', passed)
  return { entries, isTruncated: large.length > 0 }
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
  whole: readonly Segment[],
  limited: readonly { readonly segment: Segment; readonly most: number }[],
  backwards: boolean,
  passed: PassedOver | undefined,
): AsyncGenerator<readonly Entry[]> {
  yield* entriesOf(scripts, whole, jobsAtOnce, backwards, passed)
  for (const { segment, most } of limited) {
    let left = most
    for await (const entries of entriesOf(scripts, [segment], Math.min(jobsAtOnce, most), backwards, passed)) {
      yield entries
      left -= entries.length
      if (left <= 0) break
    }
  }
}
