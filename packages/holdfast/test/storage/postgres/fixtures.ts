// What the tests of the Postgres connections share: a server, a database through each library, and functions that wait.

import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Pool, type QueryArrayResult } from 'pg'
import postgres from 'postgres'
import { type PostgresOptions, type PostgresServer, startPostgres } from '../../../../../servers/postgres.ts'
import { systemClock } from '../../../src/clock.ts'
import type { Libraries } from '../../../src/storage/postgres/connection/libraries.ts'
import {
  type Database,
  type DatabaseOptions,
  openDatabase,
  type Statement,
} from '../../../src/storage/postgres/connection/database.ts'

const missing = (): Promise<never> =>
  Promise.reject(Object.assign(new Error('not installed'), { code: 'ERR_MODULE_NOT_FOUND' }))

export const libraries = {
  pg: { pg: () => import('pg'), postgres: missing },
  'postgres.js': { pg: missing, postgres: () => import('postgres') },
  none: { pg: missing, postgres: missing },
} as const satisfies Record<string, Libraries>

export type LibraryName = 'pg' | 'postgres.js'

export const libraryNames: readonly LibraryName[] = ['pg', 'postgres.js']

export async function server(t: TestContext, options?: PostgresOptions): Promise<PostgresServer> {
  const started = await startPostgres(options)
  t.after(() => started.stop())
  return started
}

let shared: PostgresServer | undefined

/** One server for the tests of a file, which calls `after(stopShared)`: empty, running, and without clients of the tests before. */
export async function sharedServer(): Promise<PostgresServer> {
  shared ??= await startPostgres()
  if (!shared.running) await shared.restart()
  const beside = new Client(shared.url)
  await beside.connect()
  const others = "SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
  await until(async () => (await beside.query(others)).rows.length === 0)
  await beside.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  await beside.end()
  return shared
}

export async function stopShared(): Promise<void> {
  await shared?.stop()
  shared = undefined
}

/** Opened by url, unless the options have a client. */
export async function database(
  t: TestContext,
  library: LibraryName,
  options: Partial<DatabaseOptions>,
): Promise<Database> {
  const opened = await openDatabase({ ...defaults, ...options }, libraries[library])
  t.after(() => opened.close())
  return opened
}

export const defaults = {
  listen: true,
  prepare: true,
  callTimeoutMs: 2_000,
  poolSize: 3,
  clock: systemClock,
} as const satisfies DatabaseOptions

/** A Pool or a Sql, as an app makes it. */
export function client(
  t: TestContext,
  library: LibraryName,
  url: string,
  max = 3,
): NonNullable<DatabaseOptions['client']> {
  if (library === 'pg') {
    const pool = new Pool({ connectionString: url, max })
    // end() does not wait until its connections are closed, and the server may stop before.
    pool.on('error', () => {})
    t.after(() => pool.end())
    return pool
  }
  const sql = postgres(url, { max })
  t.after(() => sql.end({ timeout: 0 }))
  return sql
}

let names = 0
const made = new Map<string, Statement>()

/** Returns the same statement for the same text. */
export function statement(text: string): Statement {
  const known = made.get(text) ?? { name: `s${++names}`, text }
  made.set(text, known)
  return known
}

/** Runs statements on a connection outside the client under test. */
export async function admin(t: TestContext, url: string): Promise<(text: string) => Promise<unknown[]>> {
  const beside = new Client(url)
  beside.on('error', () => {})
  await beside.connect()
  t.after(() => beside.end())
  return async (text) => {
    const answer = (await beside.query({ text, rowMode: 'array' })) as QueryArrayResult | QueryArrayResult[]
    return (Array.isArray(answer) ? [] : answer.rows.flat()) as unknown[]
  }
}

/** Terminates all other connections. */
export const killOthers = `
  SELECT count(pg_terminate_backend(pid))::int FROM pg_stat_activity
  WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'`

export async function until(holds: () => boolean | Promise<boolean>, limitMs = 30_000): Promise<void> {
  const limit = Date.now() + limitMs
  while (!(await holds())) {
    if (Date.now() > limit) throw new Error(`condition not met within ${limitMs} ms`)
    await sleep(10)
  }
}

/** Retries after transient errors, as the engine's guard does; other errors fail at once. */
export async function eventually<T>(work: () => Promise<T>, limitMs = 30_000): Promise<T> {
  const limit = Date.now() + limitMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if ((error as { transient?: unknown }).transient !== true || Date.now() > limit) throw error
      await sleep(20)
    }
  }
}
