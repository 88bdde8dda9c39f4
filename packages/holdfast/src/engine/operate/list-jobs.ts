// One page of a list of jobs. A storage may answer with a part of a page, to bound its work: a few such parts make a page.

import type { Clock } from '../../clock.ts'
import type { JobRecord, Page, RecordPart } from '../../storage/storage.ts'
import type { GuardedStorage } from '../guard.ts'
import { conditionsOf, type JobQuery } from './job-filter.ts'
import type { JobItem } from './job-item.ts'

/** A page of a list of jobs. */
export interface JobPage<TPayload = unknown> {
  readonly items: readonly JobItem<TPayload>[]
  /** For the next page. Absent on the last one. A page with few items, or none, may have one. */
  readonly nextCursor?: string
  /** The storage has no index for `where` or `order`, and stopped after 100,000 jobs, with `maxMs` after 2,000: there may be more. */
  readonly truncated?: true
}

/** Calls to the storage for one page. */
const maxCalls = 20
/** Jobs that one call looks at in the order of creation, if the time of a page is bounded: some ms of a storage. */
const maxScanned = 2_000

/** @param types stored types; undefined: all */
export async function listRecords(
  { storage, clock }: { readonly storage: Pick<GuardedStorage, 'list'>; readonly clock: Clock },
  query: JobQuery & { readonly limit: number },
  types: readonly string[] | undefined,
  parts: readonly RecordPart[],
): Promise<Page> {
  const { createdFrom, createdTo, order, limit, maxMs } = query
  const isByCreation = order === undefined ? createdFrom !== undefined || createdTo !== undefined : order !== 'place'
  const fixed = {
    of: 'jobs',
    ...conditionsOf(query, types),
    by: isByCreation ? 'created' : 'place',
    order: order === 'place' ? undefined : order,
    ...(isByCreation && maxMs !== undefined && { maxScanned }),
    parts,
  } as const
  const items: JobRecord[] = []
  const startedAt = clock.monotonic()
  let cursor = query.cursor
  for (let calls = 0; ; calls++) {
    const page = await storage.list({ ...fixed, cursor, limit: limit - items.length })
    items.push(...page.items)
    cursor = page.nextCursor
    if (cursor === undefined) return { ...page, items }
    const isOver = calls === maxCalls || clock.monotonic() - startedAt >= (maxMs ?? Infinity)
    if (items.length >= limit || isOver) return { ...page, items }
  }
}
