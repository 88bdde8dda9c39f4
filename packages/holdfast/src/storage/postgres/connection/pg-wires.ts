// Connections by way of pg: from a pool that was given or is made here, and beside it.

import { atMost, type Clock } from '../../../clock.ts'
import type { PgClient, PgPool, PgPoolInside } from './client.ts'
import type { Row, Statement, Value } from './database.ts'
import type { Answer, Wire, WireEvents, Wires } from './wire.ts'

interface PgWiresOptions {
  readonly prepare: boolean
  readonly callTimeoutMs: number
  readonly clock: Clock
  /** The pool was made for us. */
  readonly isOurs: boolean
}

/** Whatever parsers the app has set: all columns are text, and stay so. */
const types = { getTypeParser: () => (value: string) => value }

/** A lost connection is noticed by `isLost`, and by what fails on it. Without a listener it would end the process. */
const unheard = (): void => {}
const hear = (client: PgClient): void => void client.on('error', unheard)

export class PgWires implements Wires {
  readonly #pool: PgPool & PgPoolInside
  readonly #options: PgWiresOptions

  constructor(pool: PgPool, options: PgWiresOptions) {
    this.#pool = pool as PgPool & PgPoolInside
    this.#options = options
    pool.on('error', unheard)
    // From the first moment: the pool takes its own listener away before it hands the client over, and whoever waits for it
    // has its turn later. The same read may bring the server's goodbye.
    pool.on('connect', hear)
  }

  get where(): string {
    return whereOf(this.#pool.options)
  }

  async acquire(): Promise<Wire> {
    const client = await this.#pool.connect()
    return new PgWire(client, this.#options.prepare, (destroy) => client.release(destroy))
  }

  async open(url?: string, events?: WireEvents): Promise<Wire> {
    const { prepare, callTimeoutMs, clock } = this.#options
    const { Client, options } = this.#pool
    // The pool's own options as they are: a copy would lose the password, which it keeps from being seen.
    const client = new Client(url === undefined ? options : { connectionString: url, ...ownSettings })
    client.on('error', unheard)
    const wire = new PgWire(client, prepare, () => void client.end().catch(unheard), events)
    try {
      if (await atMost(clock, callTimeoutMs, client.connect())) return wire
    } catch (error) {
      wire.discard()
      throw error
    }
    wire.discard()
    throw Object.assign(new Error(`no connection within ${callTimeoutMs} ms`), { code: 'ETIMEDOUT' })
  }

  async close(): Promise<void> {
    // A pool of ours has connections that are still saying goodbye, and may fail at it.
    if (this.#options.isOurs) await this.#pool.end()
    else {
      this.#pool.removeListener('error', unheard)
      this.#pool.removeListener('connect', hear)
    }
  }
}

/** Of connections that we make: the system notices a peer that is gone also where nothing is sent. */
export const ownSettings = {
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  fallback_application_name: 'holdfast',
  pipeline: true,
} as const

class PgWire implements Wire {
  readonly #client: PgClient
  readonly #prepare: boolean
  readonly #end: (destroy: boolean) => void
  readonly #onLost: () => void
  readonly pipelines: boolean
  isLost = false
  #isEnded = false

  constructor(client: PgClient, prepare: boolean, end: (destroy: boolean) => void, events?: WireEvents) {
    this.#client = client
    this.#prepare = prepare
    // Before 8.23 there is no such thing.
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

  query(statement: Statement, values: readonly Value[]): Promise<Answer> {
    return askPg(this.#client, statement, values, this.#prepare)
  }

  release(): void {
    if (this.isLost) return this.discard()
    this.#finish(false)
  }

  discard(): void {
    if (this.#isEnded) return
    // Before the library says goodbye, for which it would wait.
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

export async function askPg(
  client: PgClient,
  { name, text }: Statement,
  values: readonly Value[],
  prepare: boolean,
): Promise<Answer> {
  const query = {
    text,
    rowMode: 'array',
    types,
    ...(values.length > 0 && { values: values.map((value) => (value === null ? null : String(value))) }),
    ...(prepare && name !== '' && { name }),
  }
  const answer = (await client.query(query)) as PgResult | PgResult[]
  // Of several statements in one text, the last.
  const { rows, command } = Array.isArray(answer) ? answer.at(-1)! : answer
  return { rows: rows as Row[], command }
}

/** Undocumented, and all that helps against a connection that is half-open. */
const streamOf = (client: PgClient): { destroy(): void } | undefined =>
  (client as { connection?: { stream?: { destroy(): void } } }).connection?.stream

/** 'host:port/database', for messages. Never the password. */
function whereOf({ connectionString, host, port, database }: Record<string, unknown>): string {
  const url = typeof connectionString === 'string' ? URL.parse(connectionString) : null
  if (url) return `${url.host}${url.pathname}`
  return `${String(host ?? 'localhost')}:${String(port ?? 5432)}/${String(database ?? '')}`
}
