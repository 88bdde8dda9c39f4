// The jobs of a bulk action: refs that were given, or all that match a filter when it begins.
// Invariant: a job is found once. One that was added, or ended, after the begin is not: so a job that fails again does not
// come back, and the action ends.

import type { JobRecord, JobRef, JobState, RecordPart } from '../../storage/storage.ts'
import type { GuardedStorage } from '../guard.ts'
import type { BulkPages } from './bulk-action.ts'
import { conditionsOf, type JobFilter } from './job-filter.ts'

/** A job of a bulk action, with its record if that is needed or was read anyway. */
export interface Candidate extends JobRef {
  readonly record?: JobRecord | undefined
}

const pageSize = 500

/** @param parts of the records that the action needs; undefined: it needs no record */
export function refPages(
  storage: Pick<GuardedStorage, 'get'>,
  refs: readonly JobRef[],
  parts: readonly RecordPart[] | undefined,
): BulkPages<Candidate> {
  async function* pages(): AsyncGenerator<readonly Candidate[]> {
    for (let start = 0; start < refs.length; start += pageSize) {
      const page = refs.slice(start, start + pageSize)
      const records = parts && (await storage.get(page, { parts }))
      yield page.map(({ type, id }, index) => ({ type, id, record: records?.[index] }))
    }
  }
  return { total: refs.length, pages: pages() }
}

/** @param types stored types; undefined: all @param states those that the action can change, for a filter without */
export async function filterPages(
  storage: Pick<GuardedStorage, 'list' | 'count'>,
  filter: JobFilter,
  types: readonly string[] | undefined,
  states: readonly JobState[],
  parts: readonly RecordPart[] | undefined,
): Promise<BulkPages<Candidate>> {
  const counts = await storage.count(types ? { types } : {})
  const conditions = { ...conditionsOf(filter, types), states: filter.states ?? states }
  const { group, where, createdFrom, createdTo } = conditions
  const isCounted = group === undefined && !where && createdFrom === undefined && createdTo === undefined
  let isTruncated = false
  async function* pages(): AsyncGenerator<readonly Candidate[]> {
    if (types?.length === 0) return
    for (let cursor: string | undefined; ;) {
      const query = { of: 'jobs', by: 'place', order: 'asc', limit: pageSize, parts, cursor } as const
      const page = await storage.list({ ...query, ...conditions })
      const found = page.items.filter((record) => isOlder(record, counts.now))
      if (found.length > 0) yield found.map((record) => ({ type: record.type, id: record.id, record }))
      if (page.truncated) isTruncated = true
      if (page.nextCursor === undefined) return
      cursor = page.nextCursor
    }
  }
  const sum = (): number =>
    counts.types.reduce((all, { states: by }) => conditions.states.reduce((of, state) => of + by[state], all), 0)
  return { total: isCounted ? sum() : undefined, pages: pages(), isTruncated: () => isTruncated }
}

const isOlder = ({ createdAt, finishedAt = 0 }: JobRecord, at: number): boolean => createdAt <= at && finishedAt <= at
