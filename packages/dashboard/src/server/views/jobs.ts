// One page of the list of jobs.

import type { Admin, AdminJobQuery, Clock, JobItem, TypeSummary } from 'holdfast'
import { type Answer, type JobRow, type JobsPage, largestPage, type SortOrder } from '../../shared/api.ts'
import { type Filter, hasPattern } from '../../shared/filter.ts'
import { type JobState, jobStates } from '../../shared/states.ts'
import { invalid } from '../http/errors.ts'
import { answerOf, type Call, type Context } from '../route.ts'
import { type Counts, mostListMs, readCounts } from './counts.ts'
import { adminFilter, filterOf, listedTypes, namedTypes, typeNames } from './job-filter.ts'

const listMs = 2_000
const defaultPage = 50
/** Ids are looked up in every type, by one call. */
const mostLookups = 5_000
/**
 * Up to so many jobs, of so many types, the newest come first: a storage may have to look at all of them to sort them. Of some of many types,
 * fewer: their order in the storage costs little.
 */
const [mostSorted, mostSortedTypes, mostSortedNamed] = [2_000, 50, 500]
const longestLine = 240
/** Jobs of a page, and pages, that one look for an error reads. A page of the answer stays below the largest one. */
const [errorPage, mostErrorPages] = [100, 20]
/** Names that say nothing: a column is short. */
const plainNames = ['Error', 'UnrecoverableError']

export async function jobs(context: Context, { query }: Call): Promise<Answer<JobsPage>> {
  const text = query.get('q') ?? ''
  const filter = filterOf(text)
  const limit = limitOf(query.get('limit'))
  const cursor = query.get('cursor') ?? undefined
  const { value: counts } = await readCounts(context)
  const sort = sortOf(query.get('sort'), filter, counts, context.handles.reader)
  const read = await context.reads.read(JSON.stringify(['jobs', text, cursor, sort, limit]), listMs, () =>
    filter.ids.length > 0
      ? findById(context, filter, counts, limit)
      : listPage(context, filter, counts, { limit, cursor, sort }),
  )
  return answerOf(read, (page) => ({ ...page, sort, types: typeNames(counts) }))
}

type Items = Pick<JobsPage, 'items' | 'nextCursor' | 'truncated'>

async function listPage(
  { handles, clock }: Context,
  filter: Filter,
  counts: Counts,
  { limit, cursor, sort }: { readonly limit: number; readonly cursor?: string | undefined; readonly sort: SortOrder },
): Promise<Items> {
  const types = listedTypes(filter, counts)
  const conditions = { ...adminFilter(filter, counts, clock), ...(types && { types }) }
  const query = { ...conditions, limit, cursor, error: true, order: orderOf(sort), maxMs: mostListMs }
  if (filter.error !== undefined) return listByError({ reader: handles.reader, clock }, filter.error, query)
  const page = await handles.reader.jobs.list(query)
  return { ...page, items: page.items.map(rowOf) }
}

/** Errors have no index: some pages are looked through, and the cursor goes on from there. */
async function listByError(
  { reader, clock }: { readonly reader: Admin; readonly clock: Clock },
  pattern: string,
  { states = ['failed', 'failing'], limit, ...query }: AdminJobQuery & { readonly limit: number },
): Promise<Items> {
  const items: JobRow[] = []
  let cursor = query.cursor
  const startedAt = clock.monotonic()
  for (let pages = 0; pages < mostErrorPages; pages++) {
    const page = await reader.jobs.list({ ...query, states, cursor, limit: Math.min(limit, errorPage) })
    const isFound = ({ error }: JobItem): boolean =>
      error !== undefined && hasPattern(`${error.name ?? ''}: ${error.message}`, pattern)
    items.push(...page.items.filter(isFound).map(rowOf))
    cursor = page.nextCursor
    const isOver = clock.monotonic() - startedAt >= mostListMs
    if (cursor === undefined || items.length * 2 >= limit || isOver) break
  }
  return { items, ...(cursor !== undefined && { nextCursor: cursor }) }
}

/** An id is unique within a type, so each type that fits is asked. */
async function findById({ handles }: Context, filter: Filter, counts: Counts, limit: number): Promise<Items> {
  const types = namedTypes(filter, counts) ?? typeNames(counts)
  const refs = types.flatMap((type) => filter.ids.map((id) => ({ ...type, id })))
  const found = await handles.reader.jobs.find(refs.slice(0, mostLookups))
  const items = found.filter(({ state }) => filter.states.length === 0 || filter.states.includes(state))
  return { items: items.slice(0, limit).map(rowOf), ...(refs.length > mostLookups && { truncated: true as const }) }
}

function rowOf(job: JobItem): JobRow {
  const { error, ...item } = job
  if (error === undefined) return item
  const name = error.name === undefined || plainNames.includes(error.name) ? '' : `${error.name}: `
  const [line = ''] = `${name}${error.message}`.split('\n', 1)
  return { ...item, errorLine: line.length > longestLine ? `${line.slice(0, longestLine)}…` : line }
}

function limitOf(text: string | null): number {
  const limit = text === null ? defaultPage : Number(text)
  if (!Number.isInteger(limit) || limit < 1 || limit > largestPage) {
    throw invalid(`limit: expected an integer 1 … ${largestPage}.`)
  }
  return limit
}

export const orderOf = (sort: SortOrder): 'desc' | 'asc' | 'place' =>
  ({ new: 'desc', old: 'asc', storage: 'place' } as const)[sort]

export function sortOf(text: string | null, filter: Filter, { types }: Counts, { storage }: Admin): SortOrder {
  if (text === 'new' || text === 'old' || text === 'storage') return text
  if (text !== null) throw invalid('sort: expected new, old or storage.')
  const named = typesOf(filter, types)
  const isSmall =
    named.length <= mostSortedTypes &&
    recordsOf(named) <= mostSorted &&
    (named.length === types.length || recordsOf(named, filter.states) <= mostSortedNamed)
  return isSmall || (storage.createdIndexed && isOfAll(filter)) ? 'new' : 'storage'
}

/** The types that a filter looks at. */
const typesOf = ({ types: names, face }: Filter, types: readonly TypeSummary[]): readonly TypeSummary[] =>
  types.filter((type) => (names.length === 0 || names.includes(type.name)) && (face ?? type.face) === type.face)

/** @param wanted none: all */
function recordsOf(types: readonly TypeSummary[], wanted: readonly JobState[] = []): number {
  let records = 0
  for (const { states } of types) {
    for (const state of wanted.length === 0 ? jobStates : wanted) records += states[state]
  }
  return records
}

/** Of all jobs, or of those of some time: an index over creation has them one after the other. */
const isOfAll = ({ states, types, face, group, error, where }: Filter): boolean =>
  states.length + types.length + Object.keys(where).length === 0 && (face ?? group ?? error) === undefined
