// Connections by way of postgres.js. A Sql that was passed in is taken as the way to make connections, not as their pool: it
// does not tell which of its connections was lost, and none of them can be thrown away. So each connection here is a Sql of
// its own, with one connection, as many as the pool of the given one would have.

import { connect, type Socket } from 'node:net'
import type { Clock } from '../../../clock.ts'
import { within } from './bounded.ts'
import type { NewSql, PostgresSql, TransactionSql } from './client.ts'
import type { Row, Statement, Value } from './database.ts'
import type { Answer, Wire, WireEvents, Wires } from './wire.ts'
import { WirePool } from './wire-pool.ts'

interface PostgresJsWiresOptions {
  readonly prepare: boolean
  readonly callTimeoutMs: number
  readonly clock: Clock
  readonly poolSize: number
}

interface Settings {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path?: string | false
  readonly database: string
  readonly socket?: (settings: Settings) => Promise<Socket> | Socket
}

export class PostgresJsWires implements Wires {
  readonly #newSql: NewSql
  /** Resolved by the library. */
  readonly #settings: Settings
  readonly #options: PostgresJsWiresOptions
  readonly #pool: WirePool

  /** @param sql never asked anything: it only says where to, and how */
  constructor(newSql: NewSql, sql: PostgresSql, options: PostgresJsWiresOptions) {
    this.#newSql = newSql
    this.#settings = sql.options as Settings
    this.#options = options
    this.#pool = new WirePool(() => this.open(), options)
  }

  get where(): string {
    const { path, host, port, database } = this.#settings
    return path ? path : `${host[0]}:${port[0]}/${database}`
  }

  acquire(): Promise<Wire> {
    return this.#pool.acquire()
  }

  async open(url?: string, events?: WireEvents): Promise<Wire> {
    const settings = url === undefined ? this.#settings : (this.#newSql(url).options as Settings)
    const wire = new PostgresJsWire(this.#newSql, settings, this.#options, events)
    const { callTimeoutMs } = this.#options
    try {
      await within(this.#options, wire.query({ name: '', text: 'SELECT 1' }, []), () =>
        Object.assign(new Error(`no connection within ${callTimeoutMs} ms`), { code: 'ETIMEDOUT' }),
      )
      return wire
    } catch (error) {
      wire.discard()
      throw error
    }
  }

  async close(): Promise<void> {
    this.#pool.close()
  }
}

class PostgresJsWire implements Wire {
  readonly #sql: PostgresSql
  readonly #prepare: boolean
  readonly #onLost: () => void
  #socket: Socket | undefined
  readonly pipelines = true
  isLost = false

  constructor(newSql: NewSql, settings: Settings, options: PostgresJsWiresOptions, events?: WireEvents) {
    this.#prepare = options.prepare
    this.#onLost = () => {
      if (this.isLost) return
      this.isLost = true
      events?.onLost()
    }
    let tries = 0
    this.#sql = newSql({
      ...settings,
      // The library would wait for the next of several, which is our affair here.
      host: settings.host.slice(0, 1),
      port: settings.port.slice(0, 1),
      max: 1,
      idle_timeout: null,
      max_lifetime: null,
      connect_timeout: options.callTimeoutMs / 1_000,
      fetch_types: false,
      // Of all that the app may have set, nothing may change what we read.
      transform: { undefined: undefined, column: {}, value: {}, row: {} },
      debug: false,
      onnotice: () => {},
      onparameter: undefined,
      shared: { retries: 0, typeArrayMap: {} },
      onnotify: (channel: string, payload: string) => events?.onMessage(channel, payload),
      onclose: this.#onLost,
      // To be able to end it at once: the library would say goodbye, and wait.
      socket: async () => (this.#socket = await socketOf(settings, tries++, (socket) => (this.#socket = socket))),
    })
  }

  get client(): object {
    return this.#sql
  }

  async query(statement: Statement, values: readonly Value[]): Promise<Answer> {
    // The library would make another connection, where no transaction is open and nothing is listened to.
    if (this.isLost) throw new Error('the connection was lost')
    return await askPostgresJs(this.#sql, statement, values, this.#prepare)
  }

  release(): void {
    this.#sql.end().catch(() => {})
    this.#onLost()
  }

  discard(): void {
    // The library's goodbye first: under encryption, said to a socket that is destroyed, it is an error that nobody hears.
    this.#sql
      .end({ timeout: 0 })
      .catch(() => {})
      .finally(() => this.#socket?.on('error', () => {}).destroy())
    this.#onLost()
  }
}

export async function askPostgresJs(
  sql: PostgresSql | TransactionSql,
  { name, text }: Statement,
  values: readonly Value[],
  prepare: boolean,
): Promise<Answer> {
  const texts = values.map((value) => (value === null ? null : String(value)))
  // A text without a name may have several statements, which only the simple way takes.
  const isSimple = name === '' && texts.length === 0
  // Raw: whatever parsers the app has set.
  const answer = (await sql.unsafe(text, texts, { prepare: prepare && name !== '', simple: isSimple }).raw()) as RawRows
  const { command } = answer
  if (command !== undefined) return { rows: answer.map(textsOf), command }
  // Of several statements in one text, the last.
  const last = (answer as unknown as RawRows[]).at(-1)!
  return { rows: last.map(textsOf), command: last.command ?? null }
}

interface RawRows extends Array<(Buffer | null)[]> {
  readonly command?: string
}

const textsOf = (row: readonly (Buffer | null)[]): Row =>
  row.map((value) => (value === null ? null : value.toString('utf8')))

/** A connected socket, which the library then uses: to the first host that has one. @param onNew while being connected */
async function socketOf(settings: Settings, tries: number, onNew: (socket: Socket) => void): Promise<Socket> {
  if (settings.socket) return await settings.socket(settings)
  const { path, host, port } = settings
  if (path) return await connected(connect({ path }), onNew)
  for (let left = host.length; ; left--, tries++) {
    const index = tries % host.length
    try {
      const to = { host: host[index]!, port: port[index]!, ...ownSocket }
      // Where the library looks for the name that a certificate must have.
      return Object.assign(await connected(connect(to), onNew), { host: host[index] })
    } catch (error) {
      if (left <= 1) throw error
    }
  }
}

const ownSocket = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 } as const

async function connected(socket: Socket, onNew: (socket: Socket) => void): Promise<Socket> {
  onNew(socket)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('connect', resolve)
  socket.once('error', reject)
  // One that is destroyed before says nothing but this.
  socket.once('close', () => reject(new Error('the connection was lost')))
  await promise
  return socket.removeAllListeners()
}
