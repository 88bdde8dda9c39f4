// The parts of pg and postgres.js that this driver calls, and how it tells them apart. Both are optional peers: this driver's
// types do not need theirs.

// ── pg ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A Client of pg. */
export interface PgClient {
  query(query: any): Promise<any>
  on(event: string, listener: (...args: any[]) => void): unknown
  removeListener(event: string, listener: (...args: any[]) => void): unknown
}

/** A Client that this driver made. */
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

/** Members of a Pool that its published types leave out. */
export interface PgPoolInternals {
  readonly options: PgSettings
  readonly Client: new (settings: PgSettings) => OwnPgClient
}

type PgSettings = Readonly<Record<string, unknown>>

export interface PgLibrary {
  readonly Pool: new (settings: PgSettings) => PgPool
}

// ── postgres.js ──────────────────────────────────────────────────────────────────────────────────────────────────────

interface PendingQuery {
  raw(): PromiseLike<unknown>
}

/** The `sql` that postgres.js passes to the function of begin() or savepoint(). */
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

/** The default export of postgres.js. */
export type NewSql = (...settings: (string | Readonly<Record<string, unknown>>)[]) => PostgresSql

// ── both ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A Pool of pg, or a Sql of postgres.js. */
export type PostgresClient = PgPool | PostgresSql

export const isPgPool = (client: unknown): client is PgPool =>
  typeof client === 'object' && hasMethods(client, 'connect', 'end', 'on', 'removeListener') && 'totalCount' in client

export const isPostgresSql = (client: unknown): client is PostgresSql =>
  typeof client === 'function' && hasMethods(client, 'unsafe', 'begin', 'reserve', 'end') && 'options' in client

/** A Client, not a Pool: a Pool may run each query on another connection. */
export const isPgClient = (tx: unknown): tx is PgClient =>
  typeof tx === 'object' && hasMethods(tx, 'query', 'on', 'removeListener') && !isPgPool(tx)

export const isTransactionSql = (tx: unknown): tx is TransactionSql =>
  typeof tx === 'function' && hasMethods(tx, 'unsafe', 'savepoint')

export function hasMethods(value: object | null, ...names: readonly string[]): value is object {
  return value !== null && names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
}
