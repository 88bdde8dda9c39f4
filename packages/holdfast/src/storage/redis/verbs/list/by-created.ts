// list by creation. There is no index by date, which would cost every job a third of its memory. Without a `where`, the sets of the
// wanted states are read (scan.ts), as far as a limit; with one, the entries of the search index. Both name the instants: they are
// sorted first, and only the records of the page are read.

import { decodeCursor, type ListKey } from '../../../rules/list.ts'
import type { JobRecord, ListQuery } from '../../../storage.ts'
import type { ScriptRunner } from '../script-runner.ts'
import { type ReadEntries, scanCreated } from './scan.ts'
import { searchSegments } from './search-segments.ts'
import { entriesOf, type Found, type ReadRecords, type Wanted } from './window.ts'

/** Records read by one call, at most, and by one round trip, at least. */
const [pageSize, fewest] = [501, 50]
/** Entries of the index read by one call. */
const entriesAtOnce = 2_000
/** Entries that are kept in memory, at most, unless the page is longer; and how many times as many a further round keeps. */
const [entriesKept, moreKept] = [20_000, 8]

type Compare = (a: ListKey, b: ListKey) => number

export async function listByCreated(scripts: ScriptRunner, query: ListQuery, read: ReadRecords): Promise<Found> {
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor)
  const sign = query.order === 'asc' ? 1 : -1
  const compare: Compare = (a, b) => sign * compareKeys(a, b)
  const { entries, isTruncated } = await entriesFor(scripts, query)
  // One more than asked for tells that there is another page.
  const found = await matching(entries, query, read, compare, after)
  const kept = found.slice(0, query.limit)
  const last = kept.at(-1)
  const truncated = isTruncated && { truncated: true as const }
  if (found.length <= query.limit || !last) return { found: kept, ...truncated }
  return { found: kept, nextCursor: Buffer.from(JSON.stringify(keyOf(last))).toString('base64url'), ...truncated }
}

async function entriesFor(
  scripts: ScriptRunner,
  query: ListQuery,
): Promise<{ entries: ReadEntries; isTruncated: boolean }> {
  if (!query.where) return scanCreated(scripts, query)
  const segments = await searchSegments(scripts, query.types, query.where)
  return { entries: (wanted) => entriesOf(scripts, segments, entriesAtOnce, wanted), isTruncated: false }
}

async function matching(
  entries: ReadEntries,
  query: ListQuery,
  read: ReadRecords,
  compare: Compare,
  after: ListKey | undefined,
): Promise<JobRecord[]> {
  const found: JobRecord[] = []
  // If many of the first ones do not match, each further round keeps more. Every round reads all sets again.
  const least = Math.max(query.limit + 1, fewest)
  for (let from = after, enough = least; ; enough = Math.max(least, Math.min(enough * moreKept, entriesKept))) {
    const { keys, until } = await firstKeys(entries, query, compare, from, enough)
    for (let at = 0; at < keys.length;) {
      // As many as are missing, if all match.
      const some = keys.slice(at, at + Math.max(query.limit + 1 - found.length, fewest))
      const records = await readInParts(read, some)
      for (const [index, record] of records.entries()) {
        // The entry may be of an earlier life of its id, which has expired and is not swept yet.
        if (record?.createdAt === some[index]![0]) found.push(record)
        if (found.length > query.limit) return found
      }
      at += some.length
    }
    if (!until) return found
    from = until
  }
}

/** By calls that are sent together, so that they take one round trip, and none holds the server up. */
async function readInParts(read: ReadRecords, keys: readonly ListKey[]): Promise<(JobRecord | undefined)[]> {
  const calls = []
  for (let at = 0; at < keys.length; at += pageSize) {
    calls.push(read(keys.slice(at, at + pageSize).map(([, type, id]) => ({ type, id }))))
  }
  return (await Promise.all(calls)).flat()
}

/** The first entries after a key, in order, each once; so many at most. `until`: those behind it are not among them. */
async function firstKeys(
  entries: ReadEntries,
  query: ListQuery,
  compare: Compare,
  after: ListKey | undefined,
  enough: number,
): Promise<{ keys: ListKey[]; until: ListKey | undefined }> {
  let keys: ListKey[] = []
  let until: ListKey | undefined
  const wanted = wantedAfter(query, after)
  const inOrder = (): ListKey[] =>
    keys.toSorted(compare).filter((key, index, all) => index === 0 || compare(key, all[index - 1]!) !== 0)
  for await (const some of entries(wanted)) {
    for (const { ref, createdAt = 0 } of some) {
      const key: ListKey = [createdAt, ref.type, ref.id]
      if (createdAt < wanted.from || createdAt > wanted.to) continue
      if ((!after || compare(key, after) > 0) && (!until || compare(key, until) < 0)) keys.push(key)
    }
    if (keys.length <= enough) continue
    keys = inOrder().slice(0, enough)
    if (keys.length < enough) continue
    // What comes behind these is not read from here on.
    until = keys.at(-1)!
    wanted[query.order === 'asc' ? 'to' : 'from'] = until[0]
  }
  return { keys: inOrder(), until }
}

/** Instants are whole numbers, and below 0 for jobs that are gone. */
function wantedAfter(query: ListQuery, after: ListKey | undefined): Wanted {
  const { createdFrom = 0, createdTo = Infinity, order } = query
  const from = Math.max(Math.ceil(createdFrom), 0)
  const to = Math.min(Math.ceil(createdTo) - 1, Number.MAX_SAFE_INTEGER)
  if (!after) return { from, to, query }
  return order === 'asc' ? { from: Math.max(from, after[0]), to, query } : { from, to: Math.min(to, after[0]), query }
}

const keyOf = ({ createdAt, type, id }: JobRecord): ListKey => [createdAt, type, id]

function compareKeys(a: ListKey, b: ListKey): number {
  if (a[0] !== b[0]) return a[0] - b[0]
  if (a[1] !== b[1]) return a[1] < b[1] ? -1 : 1
  return a[2] === b[2] ? 0 : a[2] < b[2] ? -1 : 1
}
