// The schema, as the steps that lead to it. A step that was published never changes: its checksum is kept in the database,
// and a schema whose steps differ from these, or are more than these, is refused.

import { createHash } from 'node:crypto'
import { StorageError } from '../../errors.ts'
import { postgresOptions } from '../options.ts'
import type { Connection, Database, Row, Statement } from './connection/database.ts'
import { identifier } from './rules/text.ts'

/** `$` stands for the schema. Instants are epoch ms, maybe with a fraction; text is compared by its bytes. */
const steps: readonly (readonly string[])[] = [
  [
    `CREATE TABLE $.types (
       tid integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
       name text COLLATE "C" NOT NULL UNIQUE,
       paused_since double precision,
       paused_by text,
       -- Those that its jobs ever had: the line of each is walked on its own.
       priorities smallint[] NOT NULL DEFAULT '{0}'
     )`,
    'CREATE SEQUENCE $.numbers',
    `CREATE TABLE $.jobs (
       seq bigint NOT NULL, -- its place among all jobs ever accepted
       tid integer NOT NULL,
       state smallint NOT NULL, -- scheduled, blocked, queued, processing, failing, completed, failed, cancelled: 0 … 7
       kind smallint NOT NULL, -- 0: alone; 1: has a key, or is asked to stop; 2: has a group, chain, blockers or dependents
       priority smallint NOT NULL,
       line smallint, -- 1: may be claimed once due; 0: waits behind the head of its group; NULL: does not wait
       attempt integer NOT NULL,
       failures integer NOT NULL,
       max_attempts double precision,
       keep_ms double precision NOT NULL, -- once completed; and after the other ends, unless more.retention says otherwise
       created_at double precision NOT NULL,
       run_at double precision NOT NULL,
       ord bigint NOT NULL, -- breaks ties of run_at
       started_at double precision,
       lease_until double precision, -- in processing only
       finished_at double precision,
       expires_at double precision, -- of the chain, on its first job
       sweep_at double precision, -- the same, unless somebody needs the record
       chain bigint, -- the first job of its chain, if that is another
       tail bigint, -- the last job of the chain, on its first, if that is another
       dependents integer, -- unfinished jobs that wait for the chain, on its first
       by_holder boolean, -- completed by the worker that held it
       under boolean, -- its root is another chain than its own
       id text COLLATE "C" NOT NULL,
       token text COLLATE "C" NOT NULL,
       grp text COLLATE "C",
       worker text COLLATE "C",
       label text,
       more text, -- JSON of what few jobs have
       attempts text, -- those that ended but for the one that completed it, a line of JSON each
       error bytea,
       result bytea,
       payload bytea
     )`,
    'CREATE UNIQUE INDEX jobs_id ON $.jobs (tid, id)',
    'CREATE INDEX jobs_line ON $.jobs (tid, priority, run_at, ord) WHERE line = 1',
    'CREATE INDEX jobs_leases ON $.jobs (tid, lease_until) WHERE state = 3',
    'CREATE INDEX jobs_ended ON $.jobs (sweep_at) WHERE sweep_at IS NOT NULL',
    'CREATE INDEX jobs_created ON $.jobs (created_at)',
    'CREATE UNIQUE INDEX jobs_seq ON $.jobs (seq) WHERE kind = 2',
    'CREATE INDEX jobs_chain ON $.jobs (chain, seq) WHERE chain IS NOT NULL',
    'CREATE INDEX jobs_members ON $.jobs (tid, grp, seq) WHERE grp IS NOT NULL AND state < 5',
    `CREATE TABLE $.groups (
       tid integer NOT NULL,
       key text COLLATE "C" NOT NULL,
       running bigint,
       placed bigint, -- its head, while that stands in line
       paused_since double precision,
       paused_by text,
       PRIMARY KEY (tid, key)
     )`,
    `CREATE TABLE $.keys (
       tid integer NOT NULL,
       key text COLLATE "C" NOT NULL,
       id text COLLATE "C" NOT NULL,
       token text COLLATE "C" NOT NULL,
       mode text NOT NULL,
       shared boolean NOT NULL,
       until double precision NOT NULL, -- Infinity: as long as its record
       PRIMARY KEY (tid, key)
     )`,
    `CREATE INDEX keys_until ON $.keys (until) WHERE mode = 'throttle' AND until < 'Infinity'`,
    // Unfinished jobs that name the chain (tid, id) as a blocker.
    `CREATE TABLE $.dependents (
       tid integer NOT NULL,
       id text COLLATE "C" NOT NULL,
       seq bigint NOT NULL,
       PRIMARY KEY (tid, id, seq)
     )`,
    `CREATE TABLE $.kv (
       key text COLLATE "C" PRIMARY KEY,
       value bytea NOT NULL,
       until double precision,
       created bigint NOT NULL
     )`,
    'CREATE INDEX kv_until ON $.kv (until) WHERE until IS NOT NULL',
    'CREATE SEQUENCE $.kv_numbers',
  ],
]

/** What clear() empties. Types stay: other processes know them by their numbers. */
export const tables = ['jobs', 'groups', 'keys', 'dependents', 'kv'] as const

/** Run once, each on its own. */
const once = (text: string): Statement => ({ name: '', text })

const inSchema = (schema: string, text: string): string => text.replaceAll('$.', `${identifier(schema)}.`)

const checksumOf = (step: readonly string[]): string => createHash('sha256').update(step.join(';\n')).digest('hex')

/**
 * All of it as SQL, for those who want to run it by hand, in one transaction, as the owner of the schema.
 * @throws TypeError INVALID_ARGUMENT of a name that is too long
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

/** Does what is left to do. @throws STORAGE_ERROR if the schema was made by other steps than these, or may not be made */
export async function migrate(database: Database, schema: string, isAllowed: boolean): Promise<void> {
  if ((await countDone(database, schema)) === steps.length) return
  if (!isAllowed) {
    throw schemaError(schema, 'is not up to date, and `migrate` is false: run the migration as its owner')
  }
  await database.transaction(async (connection) => {
    // Two processes that open a new database at once do it one after the other.
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

/** The steps that are done, which must be the first of ours. */
export async function countDone(connection: Pick<Connection, 'query'>, schema: string): Promise<number> {
  const name = `${identifier(schema)}.migrations`
  // By the catalogue itself: what a session knows of names may be older than the lock that it waited for.
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
    throw schemaError(schema, `has ${done.length} steps, and this version knows ${steps.length}: use a newer version`)
  }
  done.forEach(([number, checksum]: Row, index) => {
    if (Number(number) === index + 1 && checksum === checksumOf(steps[index]!)) return
    throw schemaError(schema, `was made by other steps than these: step ${index + 1} differs. Use another schema`)
  })
  return done.length
}

const schemaError = (schema: string, problem: string): StorageError =>
  new StorageError(`the Postgres schema ${schema} ${problem}`, { maybeApplied: false })
