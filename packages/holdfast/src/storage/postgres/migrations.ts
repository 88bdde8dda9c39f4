// Brings the schema up to date. The checksum of each step is stored in the database; a schema whose steps differ from those of
// schema.ts, or are more, is refused.

import { createHash } from 'node:crypto'
import { StorageError } from '../../errors.ts'
import { postgresOptions } from '../options.ts'
import type { Connection, Database, Row, Statement } from './connection/database.ts'
import { steps } from './schema.ts'
import { identifier } from './sql/text.ts'

/** Not prepared: each runs once. */
const once = (text: string): Statement => ({ name: '', text })

const inSchema = (schema: string, text: string): string => text.replaceAll('$.', `${identifier(schema)}.`)

const checksumOf = (step: readonly string[]): string => createHash('sha256').update(step.join(';\n')).digest('hex')

/**
 * Returns the migration as SQL statements, to be run in one transaction by the owner of the schema.
 * @param done how many steps the schema has already @default 0
 * @throws TypeError INVALID_ARGUMENT if the name of the schema is empty or too long
 */
export function migrationPlan(schema: string, done = 0): string[] {
  postgresOptions.schema.check('schema', schema)
  const plan =
    done > 0
      ? []
      : [
          `CREATE SCHEMA IF NOT EXISTS ${identifier(schema)}`,
          inSchema(schema, 'CREATE TABLE $.migrations (number integer PRIMARY KEY, checksum text NOT NULL)'),
        ]
  for (let index = done; index < steps.length; index++) {
    plan.push(...steps[index]!.map((text) => inSchema(schema, text)))
    plan.push(inSchema(schema, `INSERT INTO $.migrations VALUES (${index + 1}, '${checksumOf(steps[index]!)}')`))
  }
  return plan
}

/** Runs the missing steps. @throws StorageError if the schema has other steps than these, or steps are missing and not allowed */
export async function migrate(database: Database, schema: string, isAllowed: boolean): Promise<void> {
  const found = await countDone(database, schema)
  if (found === steps.length) return
  if (!isAllowed) {
    const problem = found === 0 ? 'has no tables of holdfast' : 'is not up to date'
    throw schemaError(schema, `${problem}, and \`migrate\` is false. Run npx holdfast migrate as its owner`)
  }
  await database.transaction(async (connection) => {
    // Processes that open a new database at the same time migrate one after the other.
    const lock = BigInt.asIntN(
      64,
      BigInt(`0x${createHash('sha256').update(`holdfast ${schema}`).digest('hex').slice(0, 16)}`),
    )
    await connection.query(once('SELECT pg_advisory_xact_lock(($1::text)::bigint)::text AS c0'), [String(lock)])
    const done = await countDone(connection, schema)
    if (done === steps.length) return
    for (const text of migrationPlan(schema, done)) await connection.query(once(text), [])
  })
}

/** How many steps the schema has. @throws StorageError if they are not the first of these steps */
export async function countDone(connection: Pick<Connection, 'query'>, schema: string): Promise<number> {
  const name = `${identifier(schema)}.migrations`
  // From the catalogue: to_regclass() uses a session's cache, which may be older than the lock it has waited for.
  const found = await connection.query(
    once(
      `SELECT c.relname::text AS c0 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
       WHERE n.nspname = ($1::text)::name AND c.relname = 'migrations'`,
    ),
    [schema],
  )
  if (found.length === 0) return 0
  const done = await connection.query(
    once(`SELECT number::text AS c0, checksum::text AS c1 FROM ${name} ORDER BY number`),
    [],
  )
  if (done.length > steps.length) {
    throw schemaError(
      schema,
      `has ${done.length} steps, but this version of holdfast knows ${steps.length}. Use a newer version`,
    )
  }
  done.forEach(([number, checksum]: Row, index) => {
    if (Number(number) === index + 1 && checksum === checksumOf(steps[index]!)) return
    throw schemaError(
      schema,
      `was made by other steps than those of this version: step ${index + 1} differs. Use another schema`,
    )
  })
  return done.length
}

const schemaError = (schema: string, problem: string): StorageError =>
  new StorageError(`Postgres: the schema '${schema}' ${problem}.`, { maybeApplied: false })
