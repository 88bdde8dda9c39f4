// listJobChains and listJobs. The contract lists all jobs of a storage, those of other faces too: without a filter that rules
// them out, storage pages are read until a page of own jobs is full.

import type { GuardedStorage } from '../../engine/guard.ts'
import type { Undecodable } from '../../engine/job/job-view.ts'
import { isHoldfastError } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import type { Bytes, JobRecord, JobState, ListQuery, Page } from '../../storage/storage.ts'
import { chainOf, chainParts, jobOf, jobParts, type PlainChain, type PlainJob } from '../job/records.ts'
import { isOwnType, jobRefOf, typeNameOf, typeOf } from '../job/stored-type.ts'
import { decodeInput, decodeOutput } from '../job/values.ts'
import { chainFilterOptions, jobFilterOptions, listOptions } from '../options.ts'
import type { ChainRef, PageOf } from '../types/records.ts'

type Listing = Pick<GuardedStorage, 'list'>

export interface ListRequest {
  readonly filter?: {
    readonly typeName?: readonly string[]
    readonly state?: readonly JobState[]
    readonly chain?: ChainRef
    readonly rootOnly?: boolean
    readonly createdFrom?: number
    readonly createdTo?: number
  }
  readonly orderDirection?: 'asc' | 'desc'
  readonly cursor?: string
  readonly limit?: number
}

/** Rows of one read, once a page turned out to hold jobs of other faces. */
const mostRows = 1_000

export async function listChains(storage: Listing, options: ListRequest | undefined): Promise<PageOf<PlainChain>> {
  const query = queryOf(options, chainFilterOptions)
  return pageOf(await listOwn(storage, { of: 'chains', parts: chainParts, ...query }), chainOf)
}

export async function listJobs(storage: Listing, options: ListRequest | undefined): Promise<PageOf<PlainJob>> {
  const query = queryOf(options, jobFilterOptions)
  return pageOf(await listOwn(storage, { of: 'jobs', parts: jobParts, ...query }), jobOf)
}

const pageOf = <Item extends object>({ items, nextCursor }: Page, read: (record: JobRecord) => Item): PageOf<Item> => ({
  items: items.map((record) => readAnyway(record, read)),
  nextCursor: nextCursor ?? null,
})

/** One job whose bytes cannot be decoded must not hide the others of its page: it is listed without them. */
function readAnyway<Item extends object>(record: JobRecord, read: (record: JobRecord) => Item): Item {
  try {
    return read(record)
  } catch (error) {
    if (!isHoldfastError(error, 'SERIALIZATION_ERROR')) throw error
  }
  const { type, payload, tail } = record
  const undecodable: { input?: Undecodable; output?: Undecodable } = {}
  const input = undecodableOf(payload, () => decodeInput(typeNameOf(type), payload))
  if (input) undecodable.input = input
  const result = tail ? tail.result : record.result
  const output = undecodableOf(result, () => decodeOutput(typeNameOf(type), result))
  if (output) undecodable.output = output
  const rest: JobRecord = {
    ...record,
    ...(input && { payload: undefined }),
    ...(output && (tail ? { tail: { ...tail, result: undefined } } : { result: undefined })),
  }
  return { ...read(rest), undecodable }
}

function undecodableOf(bytes: Bytes | undefined, decode: () => unknown): Undecodable | undefined {
  try {
    decode()
    return undefined
  } catch (error) {
    return { bytes: Uint8Array.from(bytes!), reason: (error as Error).message }
  }
}

/**
 * A page of this face's jobs. A cursor is always the storage's own, after the last row that was read: so a storage page that
 * holds more own jobs than are asked for is read again, up to the last of them that fits.
 */
async function listOwn(storage: Listing, query: ListQuery): Promise<Page> {
  if (query.types || query.chain) return storage.list(query)
  const items: JobRecord[] = []
  let { cursor, limit } = query
  for (;;) {
    const page: Page = await storage.list({ ...query, cursor, limit })
    const own = page.items.filter(({ type }) => isOwnType(type))
    const room = query.limit - items.length
    if (own.length > room) {
      limit = page.items.indexOf(own[room - 1]!) + 1
      continue
    }
    items.push(...own)
    cursor = page.nextCursor
    if (cursor === undefined) return { items }
    if (items.length === query.limit) return { items, nextCursor: cursor }
    limit = mostRows
  }
}

function queryOf(
  options: ListRequest | undefined,
  table: typeof jobFilterOptions | typeof chainFilterOptions,
): Omit<ListQuery, 'of' | 'parts'> {
  const { filter: given, orderDirection, cursor, limit } = resolveOptions('list', options, listOptions)
  const filter: NonNullable<ListRequest['filter']> = resolveOptions('filter', given, table)
  return {
    types: filter.typeName?.map(typeOf),
    states: filter.state,
    chain: filter.chain && jobRefOf(filter.chain),
    rootOnly: filter.rootOnly,
    createdFrom: filter.createdFrom === undefined ? undefined : Number(filter.createdFrom),
    createdTo: filter.createdTo === undefined ? undefined : Number(filter.createdTo),
    order: orderDirection,
    cursor,
    limit,
  }
}
