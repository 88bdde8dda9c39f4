// Postgres for the suites: a private server for the file, a schema of its own for each case, and a clock that is set by
// hand: the statements ask a table for the time.

import { Pool } from 'pg'
import postgres from 'postgres'
import { type PostgresServer, startPostgres } from '../../../servers/postgres.ts'
import type { Subject } from '../src/conformance/index.ts'
import { PostgresStorage, type PostgresStorageOptions } from '../src/storage/postgres/index.ts'

const start = 1_767_225_600_000

interface Place {
  readonly server: PostgresServer
  readonly pool: Pool
  readonly sql: postgres.Sql
}

let place: Promise<Place> | undefined
let schemas = 0

async function open(): Promise<Place> {
  const server = await startPostgres({ settings: { max_connections: '200' } })
  const pool = new Pool({ connectionString: server.url, max: 20 })
  pool.on('error', () => {})
  await pool.query('CREATE TABLE clocks (name text PRIMARY KEY, at double precision NOT NULL)')
  return { server, pool, sql: postgres(server.url, { max: 20, onnotice: () => {} }) }
}

export const postgresPlace = (): Promise<Place> => (place ??= open())

export async function stopPostgres(): Promise<void> {
  const opened = await place
  place = undefined
  await opened?.pool.end()
  await opened?.sql.end()
  await opened?.server.stop()
}

export type PostgresClientName = 'pg' | 'postgresjs'

/** How a storage gets to the server. */
export async function postgresWay(client: PostgresClientName = 'pg'): Promise<PostgresStorageOptions> {
  const { pool, sql } = await postgresPlace()
  return { client: client === 'pg' ? pool : sql }
}

/** A schema that nobody else has. */
export const newSchema = (): string => `case ${++schemas}`

/** Of cases that are over: to make a schema takes longer than most cases do. */
const free: string[] = []

export async function postgresSubject(client?: PostgresClientName): Promise<Subject> {
  const { pool } = await postgresPlace()
  const schema = free.pop() ?? newSchema()
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
      await storage.clear()
      free.push(schema)
    },
  }
}
