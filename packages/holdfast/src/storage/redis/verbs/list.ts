// list: a scan, for people and tools. There is no index by date, which would cost every job a third of its memory. The sets of
// a type are read a page at a time, and the records that match are sorted here.

import { checkListQuery } from '../../check.ts'
import { decodeCursor } from '../../rules/list.ts'
import type { JobRecord, JobRef, ListQuery, Page, RecordPart } from '../../storage.ts'
import { get } from './get.ts'
import { idsOf, typeNames } from './scan.ts'
import type { ScriptRunner } from './script-runner.ts'

/** Records read by one call. */
const pageSize = 500

export async function list(scripts: ScriptRunner, query: ListQuery): Promise<Page> {
  checkListQuery(query)
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor)
  const sign = query.order === 'asc' ? 1 : -1
  const compare = (a: Key, b: Key): number => sign * compareKeys(a, b)
  let found: JobRecord[] = []
  for await (const records of candidates(scripts, query)) {
    for (const record of records) {
      if (matches(record, query) && (!after || compare(keyOf(record), after) > 0)) found.push(record)
    }
    found.sort((a, b) => compare(keyOf(a), keyOf(b)))
    // One more than asked for tells that there is another page.
    found = found.slice(0, query.limit + 1)
  }
  const kept = found.slice(0, query.limit)
  const items = query.parts?.length ? await withParts(scripts, kept, query.parts, query.of) : kept
  const last = kept.at(-1)
  if (found.length <= query.limit || !last) return { items }
  return { items, nextCursor: Buffer.from(JSON.stringify(keyOf(last))).toString('base64url') }
}

/** A record that was deleted meanwhile is shown as it was found, so that a page is never too short. */
async function withParts(
  scripts: ScriptRunner,
  found: readonly JobRecord[],
  parts: readonly RecordPart[],
  of: ListQuery['of'],
): Promise<JobRecord[]> {
  const records = await get(scripts, found, { parts: of === 'chains' ? [...parts, 'tail'] : parts })
  return records.map((record, index) => record ?? found[index]!)
}

async function* candidates(scripts: ScriptRunner, { chain, types, of }: ListQuery): AsyncGenerator<JobRecord[]> {
  const parts: readonly RecordPart[] = of === 'chains' ? ['tail'] : []
  const names = types ? [...new Set(types)] : await typeNames(scripts)
  for (const type of names) {
    // The jobs of one chain are few, but may be of any type.
    const ids = [...(await idsOf(scripts, type))]
    for (let from = 0; from < ids.length; from += pageSize) {
      const refs = ids.slice(from, from + pageSize).map((id) => ({ type, id }))
      const records = (await get(scripts, refs, { parts })).filter((record) => record !== undefined)
      yield chain ? records.filter((record) => isSame(record.chain, chain)) : records
    }
  }
}

const isSame = (a: JobRef, b: JobRef): boolean => a.id === b.id && a.type === b.type

function matches(record: JobRecord, query: ListQuery): boolean {
  if (query.of === 'chains' && record.chainIndex > 0) return false
  if (query.rootOnly && !isSame(record.root, record.chain)) return false
  if (query.createdFrom !== undefined && record.createdAt < query.createdFrom) return false
  if (query.createdTo !== undefined && record.createdAt >= query.createdTo) return false
  return !query.states || query.states.includes((query.of === 'chains' ? record.tail! : record).state)
}

type Key = readonly [createdAt: number, type: string, id: string]
const keyOf = ({ createdAt, type, id }: JobRecord): Key => [createdAt, type, id]

function compareKeys(a: Key, b: Key): number {
  if (a[0] !== b[0]) return a[0] - b[0]
  if (a[1] !== b[1]) return a[1] < b[1] ? -1 : 1
  return a[2] === b[2] ? 0 : a[2] < b[2] ? -1 : 1
}
