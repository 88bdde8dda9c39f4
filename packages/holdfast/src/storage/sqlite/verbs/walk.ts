// A walk along indexes, page by page, with bounded work: a page ends when it is full, or when it has read its share of rows.

import type { StatementSync } from 'node:sqlite'
import { invalidArgument } from '../../../errors.ts'
import { matches } from '../../rules/list.ts'
import type { ListQuery } from '../../storage.ts'
import type { SqliteJob } from '../rules/job.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { SearchKey } from '../rules/search-keys.ts'

/** The place of an entry in its index: the two columns of its order. */
export type Key = readonly [first: SearchKey, second: number]

/** A part of an index. */
export interface Run {
  /** Tells it from the others. Runs come in the order of their ids, or in the reverse order. */
  readonly id: readonly number[]
  /** The next entries, in the direction of the query. An entry without a job takes its place, and is not listed. */
  read(after: Key | undefined, limit: number): readonly Entry[]
}

export interface Entry {
  readonly key: Key
  readonly job: SqliteJob | undefined
}

/** @param bounds of the first column of the order, both inclusive @param entryOf reads a row of the statement */
export function indexRun(
  statement: StatementSync,
  isUp: boolean,
  id: readonly number[],
  params: Readonly<Record<string, SearchKey>>,
  [low, high]: readonly [SearchKey, SearchKey],
  entryOf: (row: unknown) => Entry,
): Run {
  const start: Key = isUp ? [low, -1] : [high, Infinity]
  const bound = isUp ? high : low
  return {
    id,
    read: ([first, second] = start, limit) =>
      statement.all({ ...params, first, second, bound, limit }).map((row) => entryOf(row)),
  }
}

/** After an entry of a run, or at its beginning. */
export interface Position {
  readonly run: readonly number[]
  readonly after: Key | undefined
}

/** Entries and runs that a page reads at most, beside those it lists. */
export const stepsPerPage = 500

export interface Walked {
  readonly found: readonly SqliteJob[]
  readonly next?: Position
}

export function walk(
  move: SqliteMove,
  query: ListQuery,
  runs: Iterable<Run>,
  from: Position | undefined,
  steps: number = stepsPerPage,
): Walked {
  const sign = query.order === 'asc' ? 1 : -1
  const found: SqliteJob[] = []
  let last: Position | undefined
  let left = steps + query.limit
  for (const run of runs) {
    const side = from ? sign * compareIds(run.id, from.run) : 1
    if (side < 0) continue
    let after = side === 0 ? from!.after : undefined
    for (let isMore = true; isMore;) {
      if (left <= 0) return { found, next: { run: run.id, after } }
      const wanted = Math.min(query.limit + 1, left)
      const entries = run.read(after, wanted)
      left -= entries.length + 1
      for (const { key, job } of entries) {
        after = key
        if (!job || !matches(move, job, query)) continue
        if (found.length === query.limit) return { found, next: last! }
        found.push(job)
        last = { run: run.id, after }
      }
      isMore = entries.length === wanted
    }
  }
  return { found }
}

function compareIds(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return a[index]! - b[index]!
  return 0
}

type KeyJson = readonly [first: number | string | { readonly bytes: string }, second: number]

/** @param field the search field whose index it follows; null: none */
export function encodePosition(field: string | null, { run, after }: Position): string {
  const key = after && [after[0] instanceof Uint8Array ? { bytes: base64(after[0]) } : after[0], after[1]]
  return Buffer.from(JSON.stringify([field, run, key ?? null])).toString('base64url')
}

/** @param length of the ids of runs, with a field and without one @throws TypeError INVALID_ARGUMENT */
export function decodePosition(
  cursor: string,
  length: (field: string | null) => number | undefined,
): Position & { readonly field: string | null } {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(parts) && parts.length === 3) {
      const [field, run, after] = parts as [string | null, number[], KeyJson | null]
      const isRun = Array.isArray(run) && run.length === length(field) && run.every(Number.isFinite)
      if (isRun && (after === null || isKey(after))) return { field, run, after: after ? keyOf(after) : undefined }
    }
  } catch {
    // No cursor: refused below.
  }
  throw invalidArgument('cursor', 'the nextCursor of an earlier page', cursor)
}

function isKey(key: KeyJson): boolean {
  if (!Array.isArray(key) || key.length !== 2 || !Number.isFinite(key[1])) return false
  const [first] = key as KeyJson
  return typeof first === 'object'
    ? typeof first.bytes === 'string'
    : typeof first === 'string' || Number.isFinite(first)
}

const keyOf = ([first, second]: KeyJson): Key => [
  typeof first === 'object' ? Buffer.from(first.bytes, 'base64') : first,
  second,
]

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
