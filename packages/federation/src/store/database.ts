// The interface between the tables and their database: SQL text that SQLite and Postgres both accept, values and columns as text.
// sqlite/ and postgres/ implement it.
//
// Rules for statements: parameters are $1, $2, … and cast to text first (statements.ts has `text`, `integer` and `boolean`). Each
// selected column is cast to text and named c0, c1, … in order.

/** A parameter. null and undefined are NULL. */
export type Value = string | number | boolean | null | undefined

export type Row = readonly (string | null)[]

export interface Connection {
  query(text: string, values?: readonly Value[]): Promise<Row[]>
}

export interface OpenTransaction extends Connection {
  /** The library's own transaction or connection, for the app's SQL. */
  readonly handle: unknown
  /** The `tx` of the storage that shares the database; undefined if none does. */
  readonly storageTx: unknown
}

/** Differences between the two databases. */
export interface Dialect {
  /** Type of text that is compared by its bytes. */
  readonly text: string
  /** Statement that returns a row if the table $1 exists. */
  readonly findTable: string
  /** Statement that takes the migration lock $1 until the transaction ends; undefined if transactions exclude each other. */
  readonly lock: string | undefined
}

/** A database that is not open yet. */
export interface Database {
  readonly dialect: Dialect
  /** The storage that shares the database. */
  readonly storage: object | undefined
  open(): Promise<OpenDatabase>
  /** Uses a transaction of the app, which commits it or rolls it back. @throws INVALID_ARGUMENT */
  join(tx: unknown): OpenTransaction
}

export interface OpenDatabase {
  /** Runs one statement that changes nothing. */
  read(text: string, values: readonly Value[]): Promise<Row[]>
  /** Runs one statement. Resolves after its commit. */
  write(text: string, values: readonly Value[]): Promise<Row[]>
  /** Commits when `run` resolves, rolls back when it rejects. */
  transaction<T>(run: (tx: OpenTransaction) => Promise<T>): Promise<T>
  /** transaction() for a work that waits for nothing but its statements. It may share the commit of others, none of which can fail it. */
  shared<T>(run: (tx: OpenTransaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Returns a value as text. Numbers are rounded: an instant has whole milliseconds. */
export function textOf(value: Value): string | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return value ? '1' : '0'
  return typeof value === 'number' ? String(Math.round(value)) : value
}
