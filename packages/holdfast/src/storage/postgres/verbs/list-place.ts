// list by place: goes along the indexes (sql/places.ts), from the cursor on, until the page is full or enough entries were scanned. So
// a page costs the same whatever the number of jobs. All its statements see one snapshot.

import { recordOf } from '../../rules/get.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import { matches } from '../../rules/list.ts'
import { find } from '../../rules/move.ts'
import type { JobRecord, JobRef, ListQuery, Page, RecordPart } from '../../storage.ts'
import type { Connection, Row, Value } from '../connection/database.ts'
import { decodePlaceCursor, encodePlaceCursor, type PlaceCursor } from '../rules/place-cursor.ts'
import type { ListedType } from '../rules/type-registry.ts'
import { type PlaceName, places, scanStatement, searchSizeStatement } from '../sql/places.ts'
import { otherFieldParams } from '../sql/search-fields.ts'
import { conditionsOf } from '../sql/search-value.ts'
import { arrayOf, decodeText, encodeBytes, encodeOptionalText, encodeText } from '../sql/text.ts'
import { dueOf, hasWhere, type Lane, lanesOf, placesOf } from './list-lanes.ts'
import type { OpenStorage } from './open-storage.ts'
import { listTransaction } from './scan-transaction.ts'
import { snapshot } from './snapshot.ts'

/** Entries that a page scans at most, and those that its first statement scans at least. */
const usual = { maxScanned: 2_000, minScanned: 100 } as const
/** The same, to choose between the search index and the places of states: one statement. */
const trial = { maxScanned: 200, minScanned: 200 } as const
/** A search index with so many entries is short. */
const fewEntries = 4_000

export async function listByPlace(open: OpenStorage, query: ListQuery): Promise<Page> {
  const cursor = query.cursor === undefined ? undefined : decodePlaceCursor(query.cursor)
  return listTransaction(open.database, (connection) => {
    if (hasWhere(query) && query.states && !cursor) return searchInStates(open, connection, query)
    const isSearch = cursor ? cursor.place === 'search' : hasWhere(query)
    return new PlaceScan(open, connection, query, { ...usual, isSearch }).read(cursor)
  })
}

/**
 * The first page of a search in some states. Both the search index and the places of these states have all its jobs. If the first
 * entries of the index match too rarely to fill the page, and it is long, the places are scanned if they match more often, or are
 * short. The cursor names the one that was scanned, for the pages that follow.
 */
async function searchInStates(open: OpenStorage, connection: Connection, query: ListQuery): Promise<Page> {
  const search = new PlaceScan(open, connection, query, { ...trial, isSearch: true })
  const page = await search.read(undefined)
  if (page.nextCursor === undefined || page.items.length === query.limit) return page
  const states = new PlaceScan(open, connection, query, { ...trial, isSearch: false })
  const other = await states.read(undefined)
  if (other.nextCursor === undefined) return other
  if (other.items.length <= page.items.length || (await search.isShort())) return page
  return other
}

/** An entry of an index. */
interface Entry extends PlaceCursor {
  readonly ref: JobRef
  /** False: it does not match. */
  readonly fits: boolean
}

interface ScanOptions {
  /** Scans the search index, not the places of states. */
  readonly isSearch: boolean
  readonly maxScanned: number
  readonly minScanned: number
  /** Only for all(). */
  readonly onlyIfFewer?: boolean
}

export class PlaceScan {
  readonly #open: OpenStorage
  readonly #connection: Connection
  readonly #query: ListQuery
  readonly #options: ScanOptions
  readonly #order: 'asc' | 'desc'
  readonly #items: JobRecord[] = []
  #scanned = 0

  constructor(open: OpenStorage, connection: Connection, query: ListQuery, options: ScanOptions) {
    this.#open = open
    this.#connection = connection
    this.#query = query
    this.#options = options
    this.#order = query.order ?? 'desc'
  }

  async read(cursor: PlaceCursor | undefined): Promise<Page> {
    const types = await this.#types()
    const names = placesOf(this.#query, this.#options.isSearch)
    // A cursor of another query may name a place that this one does not have.
    const first = cursor ? names.indexOf(cursor.place) : 0
    if (first === -1) return { items: [] }
    for (const name of names.slice(first)) {
      let start = name === cursor?.place ? cursor : undefined
      let lanes = lanesOf(name, types, this.#query, start)
      while (lanes.length > 0) {
        const isInLane = start !== undefined && start.tid === lanes[0]!.tid && start.sub === lanes[0]!.sub
        // The start is a position in one lane: that lane is scanned by itself.
        const scanned = isInLane ? lanes.slice(0, 1) : lanes
        const { entries, isEnd } = await this.#scan(name, scanned, isInLane ? start : undefined, types)
        const next = await this.#take(entries)
        if (next) return { items: this.#items, nextCursor: encodePlaceCursor(next) }
        const last = entries.at(-1)
        if (!isEnd) {
          start = last!
          lanes = lanesOf(name, types, this.#query, start)
        } else {
          start = undefined
          lanes = lanes.slice(scanned.length)
        }
        if (this.#scanned >= this.#options.maxScanned && !isEnd)
          return { items: this.#items, nextCursor: encodePlaceCursor(last!) }
      }
    }
    return { items: this.#items }
  }

  /** Refs of all jobs in the places of the query that may match. Undefined if the places have more entries than `maxScanned`. */
  async all(): Promise<JobRef[] | undefined> {
    const types = await this.#types()
    const refs: JobRef[] = []
    for (const name of placesOf(this.#query, this.#options.isSearch)) {
      const lanes = lanesOf(name, types, this.#query, undefined)
      if (lanes.length === 0) continue
      const { entries, isEnd } = await this.#scan(name, lanes, undefined, types)
      if (!isEnd) return undefined
      for (const { ref, fits } of entries) if (fits) refs.push(ref)
    }
    return refs
  }

  /** The types of the query, with the priorities of their jobs. */
  #types(): Promise<ListedType[]> {
    return this.#open.types.list(this.#connection, this.#query.types)
  }

  async #scan(
    name: PlaceName,
    lanes: readonly Lane[],
    start: PlaceCursor | undefined,
    types: readonly { readonly tid: number }[],
  ): Promise<{ entries: Entry[]; isEnd: boolean }> {
    const { sql, types: registry } = this.#open
    const { states, of, group, createdFrom = 0, createdTo = 'Infinity', limit } = this.#query
    const left = limit - this.#items.length
    const { maxScanned, minScanned, isSearch, onlyIfFewer = false } = this.#options
    const most = Math.min(Math.max(left, minScanned, this.#scanned), Math.max(maxScanned - this.#scanned, left))
    const hasFields = !isSearch && hasWhere(this.#query)
    const options = {
      order: this.#order,
      hasStart: start !== undefined,
      due: dueOf(this.#query),
      hasFields,
      onlyIfFewer,
      isOfGroup: group !== undefined,
    }
    const rows = await this.#connection.query(scanStatement(sql, name, options), [
      arrayOf(lanes.map(({ tid }) => tid)),
      arrayOf(lanes.map(({ sub }) => sub)),
      most,
      arrayOf(types.map(({ tid }) => tid)),
      states ? arrayOf(states.map((state) => stateCodes[state])) : null,
      String(of === 'chains'),
      encodeOptionalText(group),
      createdFrom,
      createdTo,
      ...(name === 'search'
        ? this.#searchParams()
        : hasFields
          ? otherFieldParams(conditionsOf(this.#query.where!))
          : []),
      ...(start?.keys ?? []),
    ])
    const scanned = Number(rows[0]?.[0] ?? 0)
    this.#scanned += scanned
    const entryOf = ([, lane, tid, id, fits, ...keys]: Row): Entry => ({
      place: name,
      ...lanes[Number(lane) - 1]!,
      keys: keys.slice(0, places[name].keys.length) as string[],
      ref: { type: registry.nameOf(Number(tid))!, id: decodeText(id!) },
      fits: fits === 'true',
    })
    return { entries: rows.map(entryOf), isEnd: scanned < most }
  }

  /** The search index has few entries of the query. */
  async isShort(): Promise<boolean> {
    const lanes = lanesOf('search', await this.#types(), this.#query, undefined)
    const [row] = await this.#connection.query(searchSizeStatement(this.#open.sql), [
      arrayOf(lanes.map(({ tid }) => tid)),
      arrayOf(lanes.map(({ sub }) => sub)),
      fewEntries + 1,
      ...this.#fieldParams(),
    ])
    return Number(row![0]) <= fewEntries
  }

  /** The field whose index is scanned, and its intervals. */
  #fieldParams(): Value[] {
    const [first] = conditionsOf(this.#query.where!)
    return [
      encodeText(first!.name),
      arrayOf(first!.intervals.map(({ from }) => encodeBytes(from))),
      arrayOf(first!.intervals.map(({ to }) => encodeBytes(to))),
    ]
  }

  #searchParams(): Value[] {
    return [...this.#fieldParams(), ...otherFieldParams(conditionsOf(this.#query.where!).slice(1))]
  }

  /** Adds the records that match to the page. Returns the entry that filled it, if one did. */
  async #take(entries: readonly Entry[]): Promise<Entry | undefined> {
    const fitting = entries.filter(({ fits }) => fits)
    const { limit, of, parts: wanted = [] } = this.#query
    const parts: readonly RecordPart[] = of === 'chains' ? [...wanted, 'tail'] : wanted
    for (let from = 0; from < fitting.length;) {
      const batch = fitting.slice(from, from + limit - this.#items.length)
      const refs = batch.map(({ ref }) => ref)
      const move = await snapshot(this.#open, this.#connection, refs, parts)
      for (const entry of batch) {
        const job = find(move, entry.ref)
        if (job && matches(move, job, this.#query)) this.#items.push(recordOf(move, job, parts))
        if (this.#items.length === limit) return entry
      }
      from += batch.length
    }
    return undefined
  }
}
