// holdfast/sqlite: jobs in a SQLite database.

import '../../node-version.ts'
export { SqliteStorage, type SqliteStorageOptions } from './sqlite-storage.ts'
export type { SqliteTransaction } from './connection/transaction.ts'
export { whenFree as retryWhileBusy } from './connection/errors.ts'
