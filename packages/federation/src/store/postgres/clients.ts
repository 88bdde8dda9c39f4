// The parts of pg and postgres.js that are used here, and how to tell them apart. Neither is a dependency: one of them is
// passed in, or loaded from what the app has installed.

import { HoldfastError } from 'holdfast'

interface PgAnswer {
  readonly command: string
  readonly rows: unknown[][]
}

export interface PgClient {
  query(query: any): Promise<any>
  on(event: string, listener: (...args: any[]) => void): unknown
  removeListener(event: string, listener: (...args: any[]) => void): unknown
}

interface PooledPgClient extends PgClient {
  release(destroy?: boolean): void
}

/** A Pool of pg. */
export interface PgPool {
  readonly totalCount: number
  connect(): Promise<PooledPgClient>
  end(): Promise<void>
  on(event: string, listener: (...args: any[]) => void): unknown
}

interface PendingQuery {
  values(): PromiseLike<unknown>
}

/** The `sql` that postgres.js gives to the function of begin(). */
export interface TransactionSql {
  unsafe(text: string, values?: any[]): PendingQuery
  savepoint(...args: any[]): unknown
}

/** A Sql of postgres.js. */
export interface PostgresSql {
  readonly options: any
  unsafe(text: string, values?: any[]): PendingQuery
  begin(...args: any[]): unknown
  end(options?: { timeout?: number }): Promise<void>
}

/** A Pool of pg, or a Sql of postgres.js. */
export type PostgresClient = PgPool | PostgresSql

const hasMethods = (value: unknown, ...names: readonly string[]): boolean =>
  value != null && names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')

export const isPgPool = (client: unknown): client is PgPool =>
  hasMethods(client, 'connect', 'end', 'on') && 'totalCount' in (client as object)

export const isPostgresSql = (client: unknown): client is PostgresSql =>
  typeof client === 'function' && hasMethods(client, 'unsafe', 'begin', 'end')

export const isPgClient = (tx: unknown): tx is PgClient =>
  typeof tx === 'object' && hasMethods(tx, 'query', 'on', 'removeListener') && !isPgPool(tx)

export const isTransactionSql = (tx: unknown): tx is TransactionSql =>
  typeof tx === 'function' && hasMethods(tx, 'unsafe', 'savepoint')

/** A transaction of a PostgresStorage, or what holdfast/postgres makes of those of other libraries. */
export interface TextQueries {
  query(text: string, values: (string | null)[]): Promise<readonly unknown[]>
  /** What the library has for it. */
  readonly client?: object
}

/** A pool has query(), too, and connect(). */
export const isTextQueries = (tx: unknown): tx is TextQueries =>
  typeof tx === 'object' && hasMethods(tx, 'query') && !hasMethods(tx, 'connect')

export async function askPg(client: PgClient, text: string, values: (string | null)[]): Promise<PgAnswer> {
  return client.query({ text, values, rowMode: 'array' }) as Promise<PgAnswer>
}

/** For one call, and for a connection to become free, in ms. */
const callTimeoutMs = 5_000

/** A client of our own. @throws HoldfastError MISSING_DEPENDENCY */
export async function openClient(url: string): Promise<PostgresClient> {
  const pg = (await unlessMissing(() => import('pg'))) as
    | { default: { Pool: new (settings: object) => PgPool } }
    | undefined
  if (pg) {
    const pool = new pg.default.Pool({
      connectionString: url,
      connectionTimeoutMillis: callTimeoutMs,
      query_timeout: callTimeoutMs,
    })
    // Of a connection that nobody uses: the pool makes another.
    pool.on('error', () => {})
    return pool
  }
  const postgres = await unlessMissing(() => import('postgres'))
  if (postgres) {
    const make = (postgres as { default(url: string, settings: object): PostgresSql }).default
    return make(url, { connect_timeout: callTimeoutMs / 1000, onnotice: () => {} })
  }
  throw new HoldfastError(
    'MISSING_DEPENDENCY',
    'postgresStore needs a Postgres client: npm install pg (or postgres), or pass one as `client`',
    { package: 'pg' },
  )
}

async function unlessMissing(load: () => Promise<unknown>): Promise<unknown> {
  try {
    return await load()
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}
