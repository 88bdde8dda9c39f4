// The subject of the store suite: an empty store, and access to the same tables without it.

import type { Storage } from 'holdfast'
import type { Store, StoreTransaction } from '../../src/store/store.ts'

export interface Subject {
  /** An empty, connected store. */
  readonly store: Store
  /** The storage that shares the database, if there is one. */
  readonly storage?: Storage
  /** Another store on the same tables, not connected yet. */
  another(): Store
  /** A store on the same database whose tables do not exist yet. */
  fresh(): Store
  /** Reads rows as arrays on another connection. `{name}` is a table. */
  ask(text: string): Promise<unknown[][]>
  /** Runs a statement of the app in a transaction of the store. `{name}` is a table. */
  inside(tx: StoreTransaction, text: string): Promise<void>
  /** Runs a transaction of the app, without the store. */
  ownTransaction(run: (tx: unknown) => Promise<void>): Promise<void>
  close(): Promise<void>
}

export interface Case {
  readonly name: string
  readonly needs?: 'storage'
  run(subject: Subject): Promise<void>
}
