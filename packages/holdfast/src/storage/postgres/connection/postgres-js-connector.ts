// Connections through postgres.js. A given Sql is used for its settings, not as the pool: it does not report which of its
// connections was lost, and none of them can be discarded. So each connection here is a Sql of its own with `max: 1`, and there
// are at most as many as the given Sql would open.

import type { Socket } from 'node:net'
import type { Clock } from '../../../clock.ts'
import { withTimeout } from './call-timeout.ts'
import type { NewSql, PostgresSql, TransactionSql } from './client.ts'
import type { ConnectionEvents, Connector, RawConnection, StatementResult } from './connector.ts'
import type { Row, Statement, Value } from './database.ts'
import { connectionLost, connectTimeout } from './errors.ts'
import { openSocket, type SocketSettings } from './postgres-js-socket.ts'
import { RawConnectionPool } from './raw-connection-pool.ts'

interface PostgresJsConnectorOptions {
  readonly prepare: boolean
  readonly callTimeoutMs: number
  readonly clock: Clock
  readonly poolSize: number
}

interface Settings extends SocketSettings {
  readonly database: string
}

export class PostgresJsConnector implements Connector {
  readonly #newSql: NewSql
  /** As the library resolved them. */
  readonly #settings: Settings
  readonly #options: PostgresJsConnectorOptions
  readonly #pool: RawConnectionPool
  /** With those that were closed because they were idle. */
  losses = 0

  /** @param sql source of the settings; no query is sent through it */
  constructor(newSql: NewSql, sql: PostgresSql, options: PostgresJsConnectorOptions) {
    this.#newSql = newSql
    this.#settings = sql.options as Settings
    this.#options = options
    this.#pool = new RawConnectionPool(() => this.open(), options)
  }

  get where(): string {
    const { path, host, port, database } = this.#settings
    return path ? path : `${host[0]}:${port[0]}/${database}`
  }

  acquire(): Promise<RawConnection> {
    return this.#pool.acquire()
  }

  async open(url?: string, events?: ConnectionEvents): Promise<RawConnection> {
    const settings = url === undefined ? this.#settings : (this.#newSql(url).options as Settings)
    const connection = new PostgresJsConnection(this.#newSql, settings, this.#options, {
      onMessage: (channel, payload) => events?.onMessage(channel, payload),
      onLost: () => {
        this.losses++
        events?.onLost()
      },
    })
    const { callTimeoutMs } = this.#options
    try {
      const connected = connection.query({ name: '', text: 'SELECT 1' }, [])
      await withTimeout(this.#options, connected, () => connectTimeout(callTimeoutMs))
      return connection
    } catch (error) {
      connection.discard()
      throw error
    }
  }

  async close(): Promise<void> {
    this.#pool.close()
  }
}

class PostgresJsConnection implements RawConnection {
  readonly #sql: PostgresSql
  readonly #prepare: boolean
  readonly #onLost: () => void
  #socket: Socket | undefined
  readonly pipelines = true
  isLost = false

  constructor(newSql: NewSql, settings: Settings, options: PostgresJsConnectorOptions, events: ConnectionEvents) {
    this.#prepare = options.prepare
    this.#onLost = () => {
      if (this.isLost) return
      this.isLost = true
      events.onLost()
    }
    let tries = 0
    this.#sql = newSql({
      ...settings,
      // With several hosts the library would wait before it tries the next one. openSocket() goes through them instead.
      host: settings.host.slice(0, 1),
      port: settings.port.slice(0, 1),
      max: 1,
      idle_timeout: null,
      max_lifetime: null,
      connect_timeout: options.callTimeoutMs / 1_000,
      fetch_types: false,
      // The app's own transforms must not change what is read here.
      transform: { undefined: undefined, column: {}, value: {}, row: {} },
      debug: false,
      onnotice: () => {},
      onparameter: undefined,
      shared: { retries: 0, typeArrayMap: {} },
      onnotify: (channel: string, payload: string) => events.onMessage(channel, payload),
      onclose: this.#onLost,
      // To be able to destroy it at once: the library would send a Terminate message and wait.
      socket: async () => (this.#socket = await openSocket(settings, tries++, (socket) => (this.#socket = socket))),
    })
  }

  get client(): object {
    return this.#sql
  }

  async query(statement: Statement, values: readonly Value[]): Promise<StatementResult> {
    // The library would open another connection, which has neither the transaction nor the LISTEN of this one.
    if (this.isLost) throw connectionLost()
    return await queryPostgresJs(this.#sql, statement, values, this.#prepare)
  }

  release(): void {
    this.#sql.end().catch(() => {})
    this.#onLost()
  }

  discard(): void {
    // The library's Terminate message first: with TLS, writing it to a destroyed socket emits an unhandled error.
    this.#sql
      .end({ timeout: 0 })
      .catch(() => {})
      .finally(() => this.#socket?.on('error', () => {}).destroy())
    this.#onLost()
  }
}

export async function queryPostgresJs(
  sql: PostgresSql | TransactionSql,
  { name, text }: Statement,
  values: readonly Value[],
  prepare: boolean,
): Promise<StatementResult> {
  const texts = values.map((value) => (value === null ? null : String(value)))
  // A text without a name may contain several statements, which only the simple query protocol accepts.
  const isSimple = name === '' && texts.length === 0
  // raw(): bypasses the parsers that the app has set.
  const answer = (await sql.unsafe(text, texts, { prepare: prepare && name !== '', simple: isSimple }).raw()) as RawRows
  const { command } = answer
  if (command !== undefined) return { rows: answer.map(textsOf), command }
  // A text of several statements has several results; the last one counts.
  const last = (answer as unknown as RawRows[]).at(-1)!
  return { rows: last.map(textsOf), command: last.command ?? null }
}

interface RawRows extends Array<(Buffer | null)[]> {
  readonly command?: string
}

const textsOf = (row: readonly (Buffer | null)[]): Row =>
  row.map((value) => (value === null ? null : value.toString('utf8')))
