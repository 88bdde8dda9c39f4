// holdfast/sqlite

import '../../node-version.ts'
export { SqliteStorage, type SqliteStorageOptions } from './sqlite-storage.ts'
export type { SqliteTransaction } from './connection/writer.ts'
export { whenFree as retryWhileBusy } from './connection/errors.ts'
