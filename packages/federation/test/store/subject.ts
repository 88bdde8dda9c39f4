// What the suite of the store runs on: a store with nothing in it, and ways to look at the same tables from beside it.

import type { Storage } from 'holdfast'
import type { Store, StoreTransaction } from '../../src/store/store.ts'

export interface Subject {
  /** Connected. */
  readonly store: Store
  /** Where it has one: its jobs are in the same database. */
  readonly storage?: Storage
  /** Of the same tables, not connected yet. */
  another(): Store
  /** On the same database, with tables of its own that are not there yet. */
  fresh(): Store
  /** Rows as arrays, by a connection of its own. `{name}` is a table. */
  ask(text: string): Promise<unknown[][]>
  /** A statement of the app's in a transaction of the store. `{name}` is a table. */
  inside(tx: StoreTransaction, text: string): Promise<void>
  /** A transaction as the app begins it, without the store. */
  ownTransaction(run: (tx: unknown) => Promise<void>): Promise<void>
  close(): Promise<void>
}

export interface Case {
  readonly name: string
  readonly needs?: 'storage'
  run(subject: Subject): Promise<void>
}
