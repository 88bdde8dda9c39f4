// Postgres for the suites: a private server for the process, a database for each file in it, a schema of its own for each case, and a
// clock that is set by hand: the statements ask a table for the time.

import { Client, Pool } from 'pg'
import postgres from 'postgres'
import { type Pgbouncer, startPgbouncer } from '../../../servers/pgbouncer.ts'
import { type PostgresServer, startPostgres } from '../../../servers/postgres.ts'
import type { Subject } from '../../conformance/src/index.ts'
import { PostgresStorage, type PostgresStorageOptions } from '../src/storage/postgres/index.ts'
import { isFull } from './full-size.ts'

const start = 1_767_225_600_000

interface Place {
  readonly server: PostgresServer
  readonly pool: Pool
  readonly sql: postgres.Sql
}

let place: Promise<Place> | undefined
let schemas = 0

/**
 * Plans once per connection and statement, instead of six times: to plan takes most of the CPU of the server. For the suites of the
 * faces, and for the cases of the contract in `npm test`. The tests of the driver plan as a server does by default.
 */
export const planOnce = { plan_cache_mode: 'force_generic_plan' } as const

/** By settings. To start one takes a second of CPU, so it is kept for the next file: it ends with the process. */
const servers = new Map<string, Promise<PostgresServer>>()
let databases = 0

async function serverWith(settings: Readonly<Record<string, string>>): Promise<PostgresServer> {
  const key = JSON.stringify(settings)
  const started =
    servers.get(key) ?? startPostgres({ settings: { max_connections: '200', ...settings }, withSocket: true })
  servers.set(key, started)
  const server = await started
  server.unref()
  return server
}

/** Everything that a file has on a server. */
async function open(settings: Readonly<Record<string, string>>): Promise<Place> {
  const server = await serverWith(settings)
  const name = `file${++databases}`
  const client = new Client(server.url)
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  const url = server.url.replace(/[^/]+$/, name)
  // By its socket, not by TCP: it takes less CPU, and the driver sees no difference. What concerns connections uses the URL.
  const options = { host: server.directory, port: server.port, user: server.user, database: name, max: 20 }
  const pool = new Pool({ ...options, idleTimeoutMillis: 0 })
  pool.on('error', () => {})
  await pool.query('CREATE TABLE clocks (name text PRIMARY KEY, at double precision NOT NULL)')
  return {
    server: Object.create(server, { url: { value: url } }) as PostgresServer,
    pool,
    sql: postgres({ ...options, onnotice: () => {} }),
  }
}

/** The database of this file. @param settings of its server, if this is the first call of the file */
export const postgresPlace = (settings: Readonly<Record<string, string>> = {}): Promise<Place> =>
  (place ??= open(settings))

/** Closes what the file has opened. */
export async function stopPostgres(): Promise<void> {
  const opened = await place
  const between = await pooled
  place = pooled = undefined
  free.length = 0
  await between?.pool.end()
  await between?.pooler.stop()
  await opened?.pool.end()
  await opened?.sql.end()
}

/** `pgbouncer`: by way of pg, and of a pooler in transaction mode. */
export type PostgresClientName = 'pg' | 'postgresjs' | 'pgbouncer'

let pooled: Promise<{ readonly pooler: Pgbouncer; readonly pool: Pool }> | undefined

async function openPooled(server: PostgresServer): Promise<{ readonly pooler: Pgbouncer; readonly pool: Pool }> {
  const pooler = await startPgbouncer(server, { poolSize: 20 })
  const pool = new Pool({ connectionString: pooler.url, max: 20 })
  pool.on('error', () => {})
  return { pooler, pool }
}

/** How a storage gets to the server. */
export async function postgresWay(client: PostgresClientName = 'pg'): Promise<PostgresStorageOptions> {
  const { server, pool, sql } = await postgresPlace()
  if (client !== 'pgbouncer') return { client: client === 'pg' ? pool : sql }
  pooled ??= openPooled(server)
  return { client: (await pooled).pool, prepare: false, listenUrl: server.url }
}

/** A schema that nobody else has. */
export const newSchema = (): string => `case ${++schemas}`

/** Of cases that are over: to make a schema takes longer than most cases do. */
const free: string[] = []

/**
 * One that no other test uses now. Fewer schemas are cheaper: every connection plans the statements of each anew.
 *
 * @param left how many of the latest stay unused, because something of the tests before may still come in. @default 5
 */
export const takeSchema = (left = 5): string => (free.length > left ? free.shift()! : newSchema())

/** For later tests, with nothing in it. */
export async function giveSchemaBack(storage: Pick<PostgresStorage, 'clear'>, schema: string): Promise<void> {
  await storage.clear()
  free.push(schema)
}

export async function postgresSubject(client?: PostgresClientName): Promise<Subject> {
  const { pool } = await postgresPlace(isFull ? {} : planOnce)
  // Nothing of a case goes on after its end.
  const schema = takeSchema(0)
  await pool.query('INSERT INTO clocks VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET at = $2', [schema, start])
  const time = `(SELECT at FROM public.clocks WHERE name = '${schema}')`
  const make = async (): Promise<PostgresStorage> =>
    new PostgresStorage({ ...(await postgresWay(client)), schema }, time)
  const closes: (() => Promise<void>)[] = []
  const storage = await make()
  return {
    storage,
    advance: async (ms) => void (await pool.query('UPDATE clocks SET at = at + $2 WHERE name = $1', [schema, ms])),
    another: async () => {
      const other = await make()
      await other.connect()
      closes.push(() => other.disconnect())
      return other
    },
    close: async () => {
      for (const close of closes) await close()
      await giveSchemaBack(storage, schema)
    },
  }
}
