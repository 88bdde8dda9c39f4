// Connections through pg: from a pool that was given or made here, and outside it.

import { atMost, type Clock } from '../../../clock.ts'
import type { PgClient, PgPool, PgPoolInternals } from './client.ts'
import type { ConnectionEvents, Connector, RawConnection, StatementResult } from './connector.ts'
import type { Row, Statement, Value } from './database.ts'
import { connectTimeout } from './errors.ts'

interface PgConnectorOptions {
  readonly prepare: boolean
  readonly callTimeoutMs: number
  readonly clock: Clock
  /** True: this driver made the pool, and ends it. */
  readonly isOurs: boolean
}

/** Returns every column as text, whatever type parsers the app has set. */
const types = { getTypeParser: () => (value: string) => value }

/** Without a listener, `error` would end the process. */
const ignoreError = (): void => {}

export class PgConnector implements Connector {
  readonly #pool: PgPool & PgPoolInternals
  readonly #options: PgConnectorOptions
  losses = 0
  readonly #onError = (): void => void this.losses++
  readonly #onConnect = (client: PgClient): void => void client.on('error', this.#onError)

  constructor(pool: PgPool, options: PgConnectorOptions) {
    this.#pool = pool as PgPool & PgPoolInternals
    this.#options = options
    pool.on('error', this.#onError)
    // From the connect event on: the pool removes its own listener before it hands the client out, and the code that awaits
    // the client runs later. The same read may already contain the server's termination message.
    pool.on('connect', this.#onConnect)
  }

  get where(): string {
    return whereOf(this.#pool.options)
  }

  async acquire(): Promise<RawConnection> {
    const client = await this.#pool.connect()
    return new PgConnection(client, this.#options.prepare, (destroy) => client.release(destroy))
  }

  async open(url?: string, events?: ConnectionEvents): Promise<RawConnection> {
    const { prepare, callTimeoutMs, clock } = this.#options
    const { Client, options } = this.#pool
    // The pool's own options object: its password is not enumerable, and a copy would lose it.
    const client = new Client(url === undefined ? options : { connectionString: url, ...ownSettings })
    client.on('error', this.#onError)
    const connection = new PgConnection(client, prepare, () => void client.end().catch(ignoreError), events)
    try {
      if (await atMost(clock, callTimeoutMs, client.connect())) return connection
    } catch (error) {
      connection.discard()
      throw error
    }
    connection.discard()
    throw connectTimeout(callTimeoutMs)
  }

  async close(): Promise<void> {
    // A pool of ours keeps its error listeners: connections that are being terminated may still fail.
    if (this.#options.isOurs) await this.#pool.end()
    else {
      this.#pool.removeListener('error', this.#onError)
      this.#pool.removeListener('connect', this.#onConnect)
    }
  }
}

/** Settings of connections that this driver makes. TCP keep-alive detects a dead peer even when nothing is sent. */
export const ownSettings = {
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  fallback_application_name: 'holdfast',
  pipeline: true,
} as const

class PgConnection implements RawConnection {
  readonly #client: PgClient
  readonly #prepare: boolean
  readonly #end: (destroy: boolean) => void
  readonly #onLost: () => void
  readonly pipelines: boolean
  isLost = false
  #isEnded = false

  constructor(client: PgClient, prepare: boolean, end: (destroy: boolean) => void, events?: ConnectionEvents) {
    this.#client = client
    this.#prepare = prepare
    // pg pipelines since 8.23.
    this.pipelines = (client as { pipeline?: unknown }).pipeline === true
    this.#end = end
    this.#onLost = () => {
      if (this.isLost) return
      this.isLost = true
      events?.onLost()
    }
    client.on('error', this.#onLost)
    client.on('end', this.#onLost)
    if (!events) return
    client.on('notification', ({ channel, payload }: { channel: string; payload?: string }) => {
      events.onMessage(channel, payload ?? '')
    })
  }

  get client(): object {
    return this.#client
  }

  query(statement: Statement, values: readonly Value[]): Promise<StatementResult> {
    return queryPg(this.#client, statement, values, this.#prepare)
  }

  release(): void {
    if (this.isLost) return this.discard()
    this.#finish(false)
  }

  discard(): void {
    if (this.#isEnded) return
    // Before the library ends the client: it would send a Terminate message and wait.
    streamOf(this.#client)?.destroy()
    this.#finish(true)
    this.#onLost()
  }

  #finish(destroy: boolean): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#end(destroy)
    this.#client.removeListener('error', this.#onLost)
    this.#client.removeListener('end', this.#onLost)
  }
}

interface PgResult {
  readonly command: string | null
  readonly rows: unknown[]
}

/** @param send sends the query in another way than the client does by itself */
export async function queryPg(
  client: PgClient,
  { name, text }: Statement,
  values: readonly Value[],
  prepare: boolean,
  send: (query: object) => Promise<unknown> = (query) => client.query(query),
): Promise<StatementResult> {
  const query = {
    text,
    rowMode: 'array',
    types,
    ...(values.length > 0 && { values: values.map((value) => (value === null ? null : String(value))) }),
    ...(prepare && name !== '' && { name }),
  }
  const answer = (await send(query)) as PgResult | PgResult[]
  // A text of several statements has several results; the last one counts.
  const { rows, command } = Array.isArray(answer) ? answer.at(-1)! : answer
  return { rows: rows as Row[], command }
}

/** The socket of a client. It is undocumented, and the only way to close a half-open connection at once. */
const streamOf = (client: PgClient): { destroy(): void } | undefined =>
  (client as { connection?: { stream?: { destroy(): void } } }).connection?.stream

/** 'host:port/database', for messages. Never the password. */
function whereOf({ connectionString, host, port, database }: Record<string, unknown>): string {
  const url = typeof connectionString === 'string' ? URL.parse(connectionString) : null
  if (url) return `${url.host}${url.pathname}`
  return `${String(host ?? 'localhost')}:${String(port ?? 5432)}/${String(database ?? '')}`
}
