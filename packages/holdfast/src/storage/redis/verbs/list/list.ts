// list: pages of records, by their creation or by their place, and which records match a query.

import { checkListQuery } from '../../../check.ts'
import { matchesWhere } from '../../../rules/search.ts'
import type { JobRecord, JobRef, ListQuery, Page, RecordPart } from '../../../storage.ts'
import { get } from '../get.ts'
import type { ScriptRunner } from '../script-runner.ts'
import { listByCreated } from './by-created.ts'
import { listByPlace } from './by-place.ts'

/** @throws TypeError INVALID_ARGUMENT */
export async function list(scripts: ScriptRunner, asked: ListQuery): Promise<Page> {
  checkListQuery(asked)
  // A `where` without fields finds every job.
  const { where, ...others } = asked
  const query: ListQuery = where && Object.keys(where).length > 0 ? asked : others
  const read = query.by === 'place' ? listByPlace : listByCreated
  const isLater = query.parts !== undefined && query.parts.length > 0 && passesOver(query)
  const { found, ...rest } = await read(scripts, query, async (refs) => {
    const records = await get(scripts, refs, { parts: partsOf(query, isLater ? [] : query.parts) })
    return records.map((record) => (record && matches(record, query) ? record : undefined))
  })
  return { items: isLater ? await withParts(scripts, found, query) : found, ...rest }
}

/** True if many of the records that are read may not match: their parts are read once the page is known. */
const passesOver = ({ chain, rootOnly, where }: ListQuery): boolean =>
  chain !== undefined || rootOnly === true || where !== undefined

const partsOf = ({ of }: ListQuery, parts: readonly RecordPart[] = []): readonly RecordPart[] =>
  of === 'chains' ? [...parts, 'tail'] : parts

/** A record that was deleted meanwhile is shown as it was found, so that a page is never too short. */
async function withParts(scripts: ScriptRunner, found: readonly JobRecord[], query: ListQuery): Promise<JobRecord[]> {
  const records = await get(scripts, found, { parts: partsOf(query, query.parts) })
  return records.map((record, index) => record ?? found[index]!)
}

const isSame = (a: JobRef, b: JobRef): boolean => a.id === b.id && a.type === b.type

function matches(record: JobRecord, query: ListQuery): boolean {
  if (query.of === 'chains' && record.chainIndex > 0) return false
  if (query.chain && !isSame(record.chain, query.chain)) return false
  if (query.group !== undefined && record.group !== query.group) return false
  if (query.where && !matchesWhere(record.search, query.where)) return false
  if (query.rootOnly && !isSame(record.root, record.chain)) return false
  if (query.createdFrom !== undefined && record.createdAt < query.createdFrom) return false
  if (query.createdTo !== undefined && record.createdAt >= query.createdTo) return false
  return !query.states || query.states.includes((query.of === 'chains' ? record.tail! : record).state)
}
