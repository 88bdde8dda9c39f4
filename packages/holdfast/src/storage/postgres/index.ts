// holdfast/postgres

import '../../node-version.ts'
export { drizzleTx, kyselyTx, prismaTx } from './adapters.ts'
export { migrationPlan } from './migrations.ts'
export {
  joinPostgres,
  type PostgresAccess,
  postgresAccess,
  type PostgresDatabase,
  type PostgresDatabaseOptions,
  type PostgresDatabaseTransaction,
  type PostgresQueries,
} from './postgres-access.ts'
export { PostgresStorage } from './postgres-storage.ts'
export type { PostgresStorageOptions } from './postgres-options.ts'
export type { PostgresTransaction } from './verbs/transaction.ts'
