// Access of the tables to the database: by itself, or in a transaction.

import type { Row, Value } from './database.ts'
import type { Statements } from './statements.ts'
import type { StoreTransaction } from './store.ts'

export interface Tables {
  readonly statements: Statements
  read(text: string, values: readonly Value[], tx?: StoreTransaction): Promise<Row[]>
  write(text: string, values: readonly Value[], tx?: StoreTransaction): Promise<Row[]>
}
