// The migration of Postgres: creates the schema, brings it up to date, or returns the SQL.

import { systemClock } from '../clock.ts'
import { openDatabase } from '../storage/postgres/connection/database.ts'
import { countDone, migrate, migrationPlan } from '../storage/postgres/migrations.ts'

interface Request {
  readonly url: string | undefined
  readonly schema: string
  /** Print the SQL instead of running it. */
  readonly plan: boolean
}

/** Returns the lines to print. Rejects with a StorageError, or with INVALID_ARGUMENT for an invalid name of a schema. */
export async function postgresMigration({ url, schema, plan }: Request): Promise<string[]> {
  if (url === undefined) return asScript(migrationPlan(schema))
  const limits = { callTimeoutMs: 30_000, poolSize: 1 }
  const database = await openDatabase({ url, listen: false, prepare: false, clock: systemClock, ...limits })
  try {
    const left = migrationPlan(schema, await countDone(database, schema))
    if (plan) return left.length === 0 ? [`-- ${schema} is up to date`] : asScript(left)
    await migrate(database, schema, true)
    return [left.length === 0 ? `${schema} was up to date` : `${schema} is up to date now`]
  } finally {
    await database.close()
  }
}

/** In one transaction, as migrate() runs it. */
const asScript = (statements: readonly string[]): string[] => [
  'BEGIN;',
  ...statements.map((text) => `${text};`),
  'COMMIT;',
]
