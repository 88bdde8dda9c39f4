// The parts of pg and postgres.js that are used here, and how to tell them apart. Both are optional peers: their types are
// not needed to read ours.

import { HoldfastError } from '../../../errors.ts'

// ── pg ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A client of pg. */
export interface PgClient {
  query(query: any): Promise<any>
  on(event: string, listener: (...args: any[]) => void): unknown
  removeListener(event: string, listener: (...args: any[]) => void): unknown
}

/** One that we made ourselves. */
interface OwnPgClient extends PgClient {
  connect(): Promise<unknown>
  end(): Promise<void>
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
  removeListener(event: string, listener: (...args: any[]) => void): unknown
}

/** What a Pool has besides, and its types do not tell. */
export interface PgPoolInside {
  readonly options: PgSettings
  readonly Client: new (settings: PgSettings) => OwnPgClient
}

type PgSettings = Readonly<Record<string, unknown>>

interface PgLibrary {
  readonly Pool: new (settings: PgSettings) => PgPool
}

// ── postgres.js ──────────────────────────────────────────────────────────────────────────────────────────────────────

interface PendingQuery {
  raw(): PromiseLike<unknown>
}

/** The `sql` that postgres.js gives to the function of begin() or savepoint(). */
export interface TransactionSql {
  unsafe(text: string, values?: any[], options?: any): PendingQuery
  savepoint(...args: any[]): unknown
}

/** A Sql of postgres.js. */
export interface PostgresSql {
  readonly options: any
  unsafe(text: string, values?: any[], options?: any): PendingQuery
  begin(...args: any[]): unknown
  reserve(): Promise<unknown>
  end(options?: { timeout?: number }): Promise<void>
}

export type NewSql = (...settings: (string | Readonly<Record<string, unknown>>)[]) => PostgresSql

// ── both ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A Pool of pg, or a Sql of postgres.js. */
export type PostgresClient = PgPool | PostgresSql

export const isPgPool = (client: unknown): client is PgPool =>
  typeof client === 'object' && hasMethods(client, 'connect', 'end', 'on', 'removeListener') && 'totalCount' in client

export const isPostgresSql = (client: unknown): client is PostgresSql =>
  typeof client === 'function' && hasMethods(client, 'unsafe', 'begin', 'reserve', 'end') && 'options' in client

/** Not a Pool: each of its queries may go another way. */
export const isPgClient = (tx: unknown): tx is PgClient =>
  typeof tx === 'object' && hasMethods(tx, 'query', 'on', 'removeListener') && !isPgPool(tx)

export const isTransactionSql = (tx: unknown): tx is TransactionSql =>
  typeof tx === 'function' && hasMethods(tx, 'unsafe', 'savepoint')

export function hasMethods(value: object | null, ...names: readonly string[]): value is object {
  return value !== null && names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
}

/** The libraries, for tests in another way. */
export interface Libraries {
  pg(): Promise<unknown>
  postgres(): Promise<unknown>
}

const installed: Libraries = { pg: () => import('pg'), postgres: () => import('postgres') }

export async function loadPg(libraries = installed): Promise<PgLibrary | undefined> {
  const loaded = await unlessMissing(libraries.pg)
  return (loaded as { default: PgLibrary } | undefined)?.default
}

export async function loadPostgresJs(libraries = installed): Promise<NewSql | undefined> {
  const loaded = await unlessMissing(libraries.postgres)
  return (loaded as { default: NewSql } | undefined)?.default
}

async function unlessMissing(load: () => Promise<unknown>): Promise<unknown> {
  try {
    return await load()
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}

export const missingClient = (): HoldfastError =>
  new HoldfastError(
    'MISSING_DEPENDENCY',
    'PostgresStorage needs a Postgres client: npm install pg (or postgres), or pass one as `client`',
    { package: 'pg' },
  )
