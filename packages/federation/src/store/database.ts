// The seam below the tables: SQL as text that SQLite and Postgres both read, values and columns as text. Two thin databases
// stand under it (sqlite/, postgres/).
//
// Rules for statements: parameters are $1, $2, … and cast to text before anything else (statements.ts has `text`, `integer`
// and `boolean` for it); each selected column is cast to text, and named c0, c1, … in order.

/** Null: absent. */
export type Value = string | number | boolean | null | undefined

export type Row = readonly (string | null)[]

export interface Connection {
  query(text: string, values?: readonly Value[]): Promise<Row[]>
}

export interface OpenTransaction extends Connection {
  /** What the app runs SQL of its own with. */
  readonly handle: unknown
  /** What the storage that shares the database takes as `tx`; undefined: none does. */
  readonly storageTx: unknown
}

/** Where the two differ. */
export interface Dialect {
  /** The type of text that is compared by its bytes. */
  readonly text: string
  /** Finds the table of this name, $1, in one row. */
  readonly findTable: string
  /** Keeps others from migrating, until the transaction ends. $1 names the lock. */
  readonly lock: string | undefined
}

export interface Database {
  readonly dialect: Dialect
  /** The storage that it was made from. */
  readonly storage: object | undefined
  open(): Promise<void>
  close(): Promise<void>
  /** One statement that changes nothing. */
  read(text: string, values: readonly Value[]): Promise<Row[]>
  /** One statement, committed when it is answered. */
  write(text: string, values: readonly Value[]): Promise<Row[]>
  /** Rolled back if `run` rejects. */
  transaction<T>(run: (tx: OpenTransaction) => Promise<T>): Promise<T>
  /** A transaction that is open already; who began it ends it. @throws HoldfastError INVALID_ARGUMENT */
  join(tx: unknown): OpenTransaction
}

/** A value as text. Instants lose what they have below a millisecond. */
export function textOf(value: Value): string | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return value ? '1' : '0'
  return typeof value === 'number' ? String(Math.round(value)) : value
}
