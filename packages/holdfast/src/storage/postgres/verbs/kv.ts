// kv: keys and values in a table of their own, each verb one statement. `created` numbers the entries, so that a list can skip those
// that were added after it began.

import { checkKvLimit, checkKvWrite } from '../../check.ts'
import { decodeKvKey, encodeKvKey, type KeyValue, type KvKey, type KvPage, type KvWrite } from '../../kv.ts'
import { decodeKvCursor, encodeKvCursor } from '../../rules/kv-cursor.ts'
import type { Bytes } from '../../storage.ts'
import type { Row, Statement, Value } from '../connection/database.ts'
import { columns, param, type Sql } from '../sql/statement.ts'
import { decodeBytes, encodeBytes } from '../sql/text.ts'

type KvStatements = ReturnType<typeof makeKvStatements>

export function makeKvStatements({ at, now, statement, nextValue }: Sql) {
  const isLive = `(until IS NULL OR until > ${now})`
  const until = `${now} + ${param(3, 'double precision')}`
  const insert = `INSERT INTO ${at}kv AS old (key, value, until, created)
    VALUES (${param(1, 'text')}, ${param(2, 'bytea')}, ${until}, ${nextValue('kv_numbers')})`
  const replace = `SET value = EXCLUDED.value, until = EXCLUDED.until,
    created = CASE WHEN old.until IS NULL OR old.until > ${now} THEN old.created ELSE EXCLUDED.created END`
  const isExpected = `key = ${param(1, 'text')} AND ${isLive} AND value = ${param(4, 'bytea')}`
  return {
    get: statement(
      'kv_get',
      `SELECT ${columns("encode(value, 'hex')")} FROM ${at}kv WHERE key = ${param(1, 'text')} AND ${isLive}`,
    ),
    set: statement('kv_set', `${insert} ON CONFLICT (key) DO UPDATE ${replace}`),
    /** An expired entry counts as absent. */
    add: statement(
      'kv_add',
      `${insert} ON CONFLICT (key) DO UPDATE ${replace} WHERE old.until <= ${now} RETURNING '' AS c0`,
    ),
    change: statement(
      'kv_change',
      `UPDATE ${at}kv SET value = ${param(2, 'bytea')}, until = ${until} WHERE ${isExpected} RETURNING '' AS c0`,
    ),
    eraseExpected: statement(
      'kv_erase_expected',
      `DELETE FROM ${at}kv WHERE key = ${param(1, 'text')} AND ${isLive} AND value = ${param(2, 'bytea')} RETURNING '' AS c0`,
    ),
    erase: statement('kv_erase', `DELETE FROM ${at}kv WHERE key = ${param(1, 'text')} RETURNING ${columns(isLive)}`),
    /** $1: the prefix; $2: the end of its range, or ''; $3: behind this key; $4: the last number to list, or NULL; $5: limit. */
    list: statement(
      'kv_list',
      `WITH newest AS MATERIALIZED (
         SELECT coalesce(${param(4, 'bigint')}, CASE WHEN is_called THEN last_value ELSE 0 END) AS number
         FROM ${at}kv_numbers)
       SELECT ${columns('newest.number', 'e.key', "encode(e.value, 'hex')")} FROM newest LEFT JOIN LATERAL (
         SELECT key, value FROM ${at}kv
         WHERE key >= ${param(1, 'text')} AND (${param(2, 'text')} = '' OR key < ${param(2, 'text')})
           AND key > ${param(3, 'text')} AND created <= newest.number AND ${isLive}
         ORDER BY key LIMIT ${param(5, 'bigint')}) AS e ON true`,
    ),
    /** $1: limit. Returns how many entries were deleted, and whether more are left. */
    sweep: statement(
      'kv_sweep',
      `WITH over AS MATERIALIZED (
         SELECT key, row_number() OVER () AS position FROM (
           SELECT key FROM ${at}kv WHERE until <= ${now} ORDER BY until LIMIT ${param(1, 'bigint')} + 1
           FOR UPDATE SKIP LOCKED) AS o
       ), gone AS (
         DELETE FROM ${at}kv WHERE key IN (SELECT key FROM over WHERE position <= ${param(1, 'bigint')}) RETURNING 1)
       SELECT ${columns('(SELECT count(*) FROM gone)', `(SELECT count(*) FROM over) > ${param(1, 'bigint')}`)}`,
    ),
  }
}

export class PostgresKv implements KeyValue {
  readonly #statements: KvStatements
  readonly #query: (statement: Statement, values: readonly Value[]) => Promise<Row[]>

  constructor(statements: KvStatements, query: (statement: Statement, values: readonly Value[]) => Promise<Row[]>) {
    this.#statements = statements
    this.#query = query
  }

  async get(key: KvKey): Promise<Bytes | undefined> {
    const [row] = await this.#query(this.#statements.get, [encodeKvKey(key)])
    return row && decodeBytes(row[0]!)
  }

  async set(key: KvKey, value: Bytes, options: KvWrite = {}): Promise<void> {
    checkKvWrite(options)
    const { ttlMs } = options
    await this.#query(this.#statements.set, [encodeKvKey(key), encodeBytes(value), ttlMs ?? null])
  }

  async setIfAbsent(key: KvKey, value: Bytes, options?: KvWrite): Promise<boolean> {
    return this.cas(key, undefined, value, options)
  }

  async cas(key: KvKey, expected: Bytes | undefined, next: Bytes | undefined, options: KvWrite = {}): Promise<boolean> {
    checkKvWrite(options)
    const { ttlMs } = options
    const { get, add, change, eraseExpected } = this.#statements
    const name = encodeKvKey(key)
    if (!expected && !next) return (await this.#query(get, [name])).length === 0
    const written: Value[] = [name, encodeBytes(next), ttlMs ?? null]
    const rows = !expected
      ? await this.#query(add, written)
      : next
        ? await this.#query(change, [...written, encodeBytes(expected)])
        : await this.#query(eraseExpected, [name, encodeBytes(expected)])
    return rows.length > 0
  }

  async delete(key: KvKey): Promise<boolean> {
    const [row] = await this.#query(this.#statements.erase, [encodeKvKey(key)])
    return row?.[0] === 'true'
  }

  async list(prefix: KvKey, { limit, cursor }: { limit: number; cursor?: string }): Promise<KvPage> {
    checkKvLimit(limit)
    const [newest, after] = cursor === undefined ? [null, ''] : decodeKvCursor(cursor)
    const start = encodeKvKey(prefix)
    // A prefix ends in '/', and '0' is the character after '/'.
    const end = start.slice(0, -1) + (start && '0')
    const most = Math.min(limit, 2 ** 31) + 1
    const rows = await this.#query(this.#statements.list, [start, end, after, newest, most])
    const found = rows.filter(([, key]) => key !== null)
    const items = found
      .slice(0, limit)
      .map(([, key, value]) => ({ key: decodeKvKey(key!), value: decodeBytes(value!)! }))
    if (found.length <= limit) return { items }
    return { items, nextCursor: encodeKvCursor(Number(rows[0]![0]), found[limit - 1]![1]!) }
  }

  /** Deletes expired entries. */
  async sweep(limit: number): Promise<{ swept: number; more: boolean }> {
    const [row] = await this.#query(this.#statements.sweep, [limit])
    return { swept: Number(row![0]), more: row![1] === 'true' }
  }
}
