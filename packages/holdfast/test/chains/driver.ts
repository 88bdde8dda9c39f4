// A driver under test: a storage and, where it has transactions, a table of the user's in the same database.

import type { Storage } from 'holdfast'
import type { TestDriver } from '../queue/driver.ts'

/** A table of the user's in the database of the jobs. */
export interface Rows {
  add(tx: unknown, id: string): Promise<void>
  /** Committed rows. */
  ids(): Promise<string[]>
}

export interface ChainDriver extends TestDriver {
  /** False: every hint of the storage is lost. @default true */
  readonly hints?: boolean
  open(): Promise<{ readonly storage: Storage; readonly rows?: Rows; close(): Promise<void> }>
}
