// list by place: goes along the indexes (sql/places.ts), from the cursor on, until the page is full or enough entries were scanned. So
// a page costs the same whatever the number of jobs. All its statements see one snapshot.

import { recordOf } from '../../rules/get.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import { matches } from '../../rules/list.ts'
import { find } from '../../rules/move.ts'
import type { JobRecord, JobRef, ListQuery, Page, RecordPart } from '../../storage.ts'
import type { Connection, Row, Value } from '../connection/database.ts'
import { decodePlaceCursor, encodePlaceCursor, type PlaceCursor } from '../rules/place-cursor.ts'
import { type PlaceName, places, scanStatement } from '../sql/places.ts'
import { otherFieldParams } from '../sql/search-fields.ts'
import { conditionsOf } from '../sql/search-value.ts'
import { arrayOf, decodeText, encodeBytes, encodeOptionalText, encodeText } from '../sql/text.ts'
import { dueOf, type Lane, lanesOf, placesOf } from './list-lanes.ts'
import type { OpenStorage } from './open-storage.ts'
import { listTransaction } from './scan-transaction.ts'
import { snapshot } from './snapshot.ts'

/** Entries that a page scans at most, and those that its first statement scans at least. */
const [maxScanned, minScanned] = [2_000, 100]

export async function listByPlace(open: OpenStorage, query: ListQuery): Promise<Page> {
  const cursor = query.cursor === undefined ? undefined : decodePlaceCursor(query.cursor)
  return listTransaction(open.database, (connection) => new PlaceScan(open, connection, query).read(cursor))
}

/** An entry of an index. */
interface Entry extends PlaceCursor {
  readonly ref: JobRef
  /** False: it does not match. */
  readonly fits: boolean
}

class PlaceScan {
  readonly #open: OpenStorage
  readonly #connection: Connection
  readonly #query: ListQuery
  readonly #order: 'asc' | 'desc'
  readonly #items: JobRecord[] = []
  #scanned = 0

  constructor(open: OpenStorage, connection: Connection, query: ListQuery) {
    this.#open = open
    this.#connection = connection
    this.#query = query
    this.#order = query.order ?? 'desc'
  }

  async read(cursor: PlaceCursor | undefined): Promise<Page> {
    const types = await this.#types()
    const names = placesOf(this.#query)
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
        if (this.#scanned >= maxScanned && !isEnd) return { items: this.#items, nextCursor: encodePlaceCursor(last!) }
      }
    }
    return { items: this.#items }
  }

  /** The types of the query, with the priorities of their jobs. */
  async #types(): Promise<{ tid: number; priorities: number[] }[]> {
    const { types: names } = this.#query
    const { statements, types } = this.#open
    const rows = await this.#connection.query(statements.listedTypes, [names ? arrayOf(names.map(encodeText)) : null])
    const listed = rows.map(([tid, list]) => ({ tid: Number(tid), priorities: JSON.parse(list!) as number[] }))
    await types.findByTid(
      this.#connection,
      listed.map(({ tid }) => tid),
    )
    return listed
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
    const most = Math.min(Math.max(left, minScanned, this.#scanned), Math.max(maxScanned - this.#scanned, left))
    const options = { order: this.#order, hasStart: start !== undefined, due: dueOf(this.#query) }
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
      ...(name === 'search' ? this.#searchParams() : []),
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

  #searchParams(): Value[] {
    const [first, ...others] = conditionsOf(this.#query.where!)
    return [
      encodeText(first!.name),
      arrayOf(first!.intervals.map(({ from }) => encodeBytes(from))),
      arrayOf(first!.intervals.map(({ to }) => encodeBytes(to))),
      ...otherFieldParams(others),
    ]
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
