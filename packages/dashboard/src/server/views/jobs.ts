// One page of the list of jobs.

import type { Admin, AdminJobQuery, JobDetails, JobItem } from 'holdfast'
import { type Answer, type JobRow, type JobsPage, largestPage, type SortOrder } from '../../shared/api.ts'
import { type Filter, hasPattern } from '../../shared/filter.ts'
import { invalid } from '../http/errors.ts'
import { answerOf, type Call, type Context } from '../route.ts'
import { type Counts, readCounts } from './counts.ts'
import { adminFilter, filterOf, namedTypes, typeNames } from './job-filter.ts'

const listMs = 2_000
const defaultPage = 50
/** Ids are looked up type by type. */
const mostLookups = 100
/** Up to so many jobs the newest come first. A storage may have to look at all of them, so larger ones are shown in its own order. */
const mostSorted = 50_000
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
  const sort = sortOf(query.get('sort'), counts)
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
  const order = { new: 'desc', old: 'asc', storage: undefined } as const
  const query = { ...adminFilter(filter, counts, clock), limit, cursor, error: true, order: order[sort] }
  if (filter.error !== undefined) return listByError(handles.reader, filter.error, query)
  const page = await handles.reader.jobs.list(query)
  return { ...page, items: page.items.map(rowOf) }
}

/** Errors have no index: some pages are looked through, and the cursor goes on from there. */
async function listByError(
  reader: Admin,
  pattern: string,
  { states = ['failed', 'failing'], limit, ...query }: AdminJobQuery & { readonly limit: number },
): Promise<Items> {
  const items: JobRow[] = []
  let cursor = query.cursor
  for (let pages = 0; pages < mostErrorPages; pages++) {
    const page = await reader.jobs.list({ ...query, states, cursor, limit: Math.min(limit, errorPage) })
    const isFound = ({ error }: JobItem): boolean =>
      error !== undefined && hasPattern(`${error.name ?? ''}: ${error.message}`, pattern)
    items.push(...page.items.filter(isFound).map(rowOf))
    cursor = page.nextCursor
    if (cursor === undefined || items.length * 2 >= limit) break
  }
  return { items, ...(cursor !== undefined && { nextCursor: cursor }) }
}

/** An id is unique within a type, so each type that fits is asked. */
async function findById({ handles }: Context, filter: Filter, counts: Counts, limit: number): Promise<Items> {
  const types = namedTypes(filter, counts) ?? typeNames(counts)
  const refs = types.flatMap((type) => filter.ids.map((id) => ({ ...type, id })))
  const found = await Promise.all(refs.slice(0, mostLookups).map((ref) => handles.reader.jobs.get(ref)))
  const items = found.flatMap((job): JobRow[] =>
    job === null || (filter.states.length > 0 && !filter.states.includes(job.state)) ? [] : [rowOf(itemOf(job))],
  )
  return { items: items.slice(0, limit), ...(refs.length > mostLookups && { truncated: true as const }) }
}

/** The fields of a job that a list has. */
function itemOf(job: JobDetails): JobItem {
  const { face, name, id, state, reason, attempts, maxAttempts, priority, group, search, createdAt, runAt } = job
  const { startedAt, finishedAt, workerId, cancelling, error } = job
  const item = { face, name, id, state, reason, attempts, maxAttempts, priority, group, search, createdAt, runAt }
  return { ...item, startedAt, finishedAt, workerId, cancelling, error } as JobItem
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

function sortOf(text: string | null, { types }: Counts): SortOrder {
  if (text === 'new' || text === 'old' || text === 'storage') return text
  if (text !== null) throw invalid('sort: expected new, old or storage.')
  let records = 0
  for (const { states } of types) for (const count of Object.values(states)) records += count
  return records <= mostSorted ? 'new' : 'storage'
}
