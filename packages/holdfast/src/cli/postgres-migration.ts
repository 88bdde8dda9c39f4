// The migration of Postgres as lines to print: what was done, or the SQL.

import type { Storage } from '../storage/storage.ts'
import type { PostgresStorage } from '../storage/postgres/index.ts'

/** @param plan print the SQL instead of running it @throws StorageError */
export async function migratePostgres(storage: PostgresStorage, plan: boolean): Promise<string[]> {
  const missing = await storage.migrate({ plan })
  if (plan) return missing.length === 0 ? ['-- the schema is up to date'] : asScript(missing)
  return [missing.length === 0 ? 'the schema was up to date' : 'the schema is up to date now']
}

/** The SQL of a new schema. @throws TypeError INVALID_ARGUMENT for an invalid name of it */
export async function newSchema(schema: string | undefined): Promise<string[]> {
  const { migrationPlan } = await import('../storage/postgres/migrations.ts')
  return asScript(migrationPlan(schema ?? 'holdfast'))
}

export const isPostgresStorage = (storage: Storage): storage is PostgresStorage =>
  storage.driver === 'postgres' && typeof (storage as Partial<PostgresStorage>).migrate === 'function'

/** In one transaction, as migrate() runs it. */
const asScript = (statements: readonly string[]): string[] => [
  'BEGIN;',
  ...statements.map((text) => `${text};`),
  'COMMIT;',
]
