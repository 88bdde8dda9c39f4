// list: pages by cursor. By creation along the index over createdAt, or, if the query can match few jobs only, by sorting these.
// By place, and with `where`, along other indexes.

import type { JobState, ListQuery, Page } from '../../storage.ts'
import { decodeCursor, type Edge, isEdge, type ListKey, matches, pageOf, pageUpTo } from '../../rules/list.ts'
import { stateCodes, stateNames } from '../../rules/job/codes.ts'
import type { SqliteJob } from '../rules/job.ts'
import type { SqliteMove } from '../rules/move.ts'
import { countsOf, placeIdLength, placeRuns, typesOf, wantedStates } from './list-place.ts'
import { countEntries, searchField, searchIdLength, searchRuns } from './list-search.ts'
import { decodePosition, encodePosition, type Run, walk, type Walked } from './walk.ts'

/** Jobs that a query sorts at most: more are found along the index over createdAt. */
const mostSorted = 2_000
/** Entries that are read to choose between the search index and those of states. */
const stepsTried = 200
/** A search index with so many entries is short. */
const fewEntries = 4_000

export function list(move: SqliteMove, query: ListQuery): Page {
  return query.by === 'place' ? listByPlace(move, query) : listByCreation(move, query)
}

function listByPlace(move: SqliteMove, query: ListQuery): Page {
  const from = query.cursor === undefined ? undefined : decodePosition(query.cursor, (field) => idLength(query, field))
  const field = from ? from.field : (searchField(move, query) ?? null)
  if (field !== null && query.states && !from) return searchInStates(move, query, field)
  const tid = from?.run[0]
  const runs = field === null ? placeRuns(move, query, wantedStates(query), tid) : searchRuns(move, query, field, tid)
  return placePage(move, query, field, walk(move, query, runs, from))
}

/**
 * The first page of a search in some states. Both the search index and the indexes of these states have all its jobs. If the first
 * entries of the search index match too rarely to fill the page, and it is long, the others are followed if they match more often,
 * or are short. The cursor names what was followed, for the pages after it.
 */
function searchInStates(move: SqliteMove, query: ListQuery, field: string): Page {
  const search = walk(move, query, searchRuns(move, query, field, undefined), undefined, stepsTried)
  if (!search.next || search.found.length === query.limit) return placePage(move, query, field, search)
  const states = walk(move, query, placeRuns(move, query, wantedStates(query), undefined), undefined, stepsTried)
  const isBetter = states.found.length > search.found.length
  if (!states.next || (isBetter && countEntries(move, query, field, fewEntries + 1) > fewEntries)) {
    return placePage(move, query, null, states)
  }
  return placePage(move, query, field, search)
}

function placePage(move: SqliteMove, query: ListQuery, field: string | null, { found, next }: Walked): Page {
  const page = pageOf(move, query, found)
  return next ? { ...page, nextCursor: encodePosition(field, next) } : page
}

/** The length of the ids of runs. Undefined: no cursor of this query has this field. */
function idLength({ where = {}, states }: ListQuery, field: string | null): number | undefined {
  if (field === null) return states || Object.keys(where).length === 0 ? placeIdLength : undefined
  return Object.hasOwn(where, field) ? searchIdLength : undefined
}

function listByCreation(move: SqliteMove, query: ListQuery): Page {
  const ascending = query.order === 'asc'
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor)
  const [at, type, id] = after ?? [null, null, null]
  const from = query.createdFrom ?? 0
  const to = query.createdTo ?? Number.MAX_SAFE_INTEGER
  const range = { low: ascending ? Math.max(at ?? from, from) : from, high: ascending ? to : Math.min(at ?? to, to) }
  const params = {
    types: query.types ? JSON.stringify(query.types) : null,
    states: query.states && query.of === 'jobs' ? JSON.stringify(codesOfAll(move, query.states)) : null,
    chains: query.of === 'chains' ? 1 : 0,
    at,
    type,
    id,
  }
  const { listUp, listDown, candidatesUp, candidatesDown } = move.set.statements
  // A page that ended at an edge has found that they are many.
  const seqs = after && isEdge(after) ? undefined : candidatesOf(move, query)
  const edge = seqs ? undefined : edgeOf(move, query, range, after)
  const before = edge && (ascending ? { high: edge.last } : { low: edge.last })
  const rows = seqs
    ? (ascending ? candidatesUp : candidatesDown).iterate({ ...params, ...range, seqs: JSON.stringify(seqs) })
    : (ascending ? listUp : listDown).iterate({ ...params, ...range, ...before })
  const found: SqliteJob[] = []
  for (const [seq] of rows as Iterable<unknown> as Iterable<[seq: number]>) {
    const job = move.set.jobOf(seq)!
    if (matches(move, job, query) && found.push(job) > query.limit) break
  }
  return pageUpTo(move, query, found, edge)
}

/** Undefined: the page may look at all jobs of the range. */
function edgeOf(
  move: SqliteMove,
  { order, maxScanned }: ListQuery,
  range: { readonly low: number; readonly high: number },
  after: ListKey | undefined,
): Edge | undefined {
  if (maxScanned === undefined) return undefined
  const { edgeUp, edgeDown } = move.set.statements
  // Jobs of the instant of an edge were looked at by the page before: they must not count again.
  const end = order !== 'asc' && after && isEdge(after) ? after[0] : Infinity
  const row = (order === 'asc' ? edgeUp : edgeDown).get({ ...range, end, most: maxScanned })
  const [last, next] = (row as unknown as [number, number] | undefined) ?? []
  return last === undefined ? undefined : { last, next: next! }
}

/** The jobs that a query can match. Undefined if they are many. */
function candidatesOf(move: SqliteMove, query: ListQuery): number[] | undefined {
  const field = searchField(move, query)
  if (field !== undefined) {
    const isFew = countEntries(move, query, field, mostSorted + 1) <= mostSorted
    return isFew ? seqsOf(searchRuns(move, query, field, undefined)) : undefined
  }
  if (!query.types && !query.states) return undefined
  // Whether a job is queued or scheduled follows from the clock, which may be set back: both are read for one of them.
  const wanted = wantedStates(query)
  const isWaiting = wanted.includes('queued') || wanted.includes('scheduled')
  const states = stateNames.filter(
    (state) => wanted.includes(state) || (isWaiting && (state === 'queued' || state === 'scheduled')),
  )
  // A row of the index that SQLite passes over costs about a tenth of a job that is read to be sorted.
  const [total] = move.set.statements.countAll.get() as unknown as [number | null]
  const most = Math.min(mostSorted, (total ?? 0) / 10)
  let count = 0
  for (const type of typesOf(move, query, undefined)) {
    const counts = countsOf(move, type)
    for (const state of states) count += counts[stateCodes[state]]!
    if (count > most) return undefined
  }
  return seqsOf(placeRuns(move, query, states, undefined))
}

function seqsOf(runs: Iterable<Run>): number[] {
  const seqs: number[] = []
  for (const run of runs) {
    for (const { job } of run.read(undefined, mostSorted + 1)) if (job) seqs.push(job.accepted)
  }
  return seqs
}

/** The row of a job in an open claim says queued. */
const codesOfAll = ({ set }: SqliteMove, states: readonly JobState[]): number[] => [
  ...states.flatMap(codesOf),
  ...(states.includes('processing') && !set.claims.isEmpty ? [stateCodes.queued] : []),
]

/** A job whose row says scheduled reads as queued once it is due. */
const codesOf = (state: JobState): number[] =>
  state === 'queued' ? [stateCodes.queued, stateCodes.scheduled] : [stateCodes[state]]
