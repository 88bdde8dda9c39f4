// migrate: the schema of Postgres, made, brought up to date, or printed.

import { systemClock } from '../clock.ts'
import { openDatabase } from '../storage/postgres/connection/database.ts'
import { countDone, migrate, migrationPlan } from '../storage/postgres/migrations.ts'

interface Request {
  readonly url: string | undefined
  readonly schema: string
  /** Only say what would be done. */
  readonly plan: boolean
}

/** What to print. @throws StorageError, TypeError INVALID_ARGUMENT of a schema's name */
export async function postgresMigration({ url, schema, plan }: Request): Promise<string[]> {
  if (url === undefined) return printed(migrationPlan(schema))
  const limits = { callTimeoutMs: 30_000, poolSize: 1 }
  const database = await openDatabase({ url, listen: false, prepare: false, clock: systemClock, ...limits })
  try {
    const left = migrationPlan(schema, await countDone(database, schema))
    if (plan) return left.length === 0 ? [`-- ${schema} is up to date`] : printed(left)
    await migrate(database, schema, true)
    return [left.length === 0 ? `${schema} was up to date` : `${schema} is up to date now`]
  } finally {
    await database.close()
  }
}

/** In one transaction, as it is run. */
const printed = (statements: readonly string[]): string[] => [
  'BEGIN;',
  ...statements.map((text) => `${text};`),
  'COMMIT;',
]
