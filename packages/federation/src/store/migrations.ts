// Migrations: numbered steps that create the tables. A published step never changes: its checksum is stored in the database, and
// a database with other or more steps is refused.

import { createHash } from 'node:crypto'
import { StorageError } from 'holdfast'
import { FederationError } from '../errors.ts'
import type { Connection, Dialect, OpenDatabase } from './database.ts'

/** `{name}` stands for a table or index with the prefix, `{text}` for the dialect's type of text that is compared by its bytes. */
const steps: readonly (readonly string[])[] = [
  [
    `CREATE TABLE {delivery_jobs} (
  id {text} PRIMARY KEY,
  name {text} NOT NULL,
  target_url {text} NOT NULL,
  server_url {text} NOT NULL,
  payload text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  last_attempted_at bigint,
  next_attempt_at bigint,
  created_at bigint NOT NULL,
  status {text} NOT NULL DEFAULT 'open',
  last_error {text},
  settled_at bigint
)`,
    'CREATE INDEX {delivery_jobs_by_server} ON {delivery_jobs} (server_url, status)',
    'CREATE INDEX {delivery_jobs_by_end} ON {delivery_jobs} (status, settled_at)',
    `CREATE TABLE {server_registry} (
  url {text} PRIMARY KEY,
  public_key {text} NOT NULL,
  encryption_public_key {text} NOT NULL,
  last_seen bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  is_healthy boolean NOT NULL DEFAULT true,
  unhealthy_reason {text},
  health_check_attempts integer NOT NULL DEFAULT 0
)`,
    'CREATE INDEX {server_registry_by_health} ON {server_registry} (is_healthy, last_seen)',
    `CREATE TABLE {blacklisted_servers} (
  server_url {text} PRIMARY KEY,
  "match" {text} NOT NULL DEFAULT 'origin',
  reason text NOT NULL,
  created_at bigint NOT NULL
)`,
    `CREATE TABLE {follows} (
  id {text} PRIMARY KEY,
  follower_id {text} NOT NULL,
  following_id {text} NOT NULL,
  follower_server_url {text},
  following_server_url {text},
  accepted boolean NOT NULL DEFAULT false,
  acknowledged boolean NOT NULL DEFAULT false,
  created_at bigint NOT NULL
)`,
    // COALESCE makes follows without a remote party unique, too: NULLs would all differ.
    `CREATE UNIQUE INDEX {follows_by_parties}
  ON {follows} (follower_id, following_id, (COALESCE(follower_server_url, '')))`,
  ],
  [
    // With the followed server: users of two servers may follow each other under the same pair of ids.
    'DROP INDEX {follows_by_parties}',
    `CREATE UNIQUE INDEX {follows_by_parties}
  ON {follows} (follower_id, following_id, (COALESCE(follower_server_url, '')), (COALESCE(following_server_url, '')))`,
  ],
  [
    // Upkeep reads open deliveries page by page.
    'CREATE INDEX {delivery_jobs_by_age} ON {delivery_jobs} (status, created_at, id)',
  ],
  [
    // What bounds the registry, and which peers may be relays. Peers of before count as used, and not as reached.
    'ALTER TABLE {server_registry} ADD COLUMN site {text}',
    'ALTER TABLE {server_registry} ADD COLUMN address_range {text}',
    'ALTER TABLE {server_registry} ADD COLUMN used_at bigint',
    'ALTER TABLE {server_registry} ADD COLUMN reached_at bigint',
    'UPDATE {server_registry} SET used_at = last_seen',
    'CREATE INDEX {server_registry_unused} ON {server_registry} (last_seen) WHERE used_at IS NULL AND reached_at IS NULL',
    `CREATE INDEX {server_registry_unused_by_site} ON {server_registry} (site, last_seen)
  WHERE used_at IS NULL AND reached_at IS NULL`,
    `CREATE INDEX {server_registry_unused_by_range} ON {server_registry} (address_range, last_seen)
  WHERE used_at IS NULL AND reached_at IS NULL`,
  ],
  [
    `CREATE TABLE {inbox} (
  origin {text} NOT NULL,
  id {text} NOT NULL,
  outcome text NOT NULL,
  ack text,
  sealed_with {text},
  received_at bigint NOT NULL,
  expires_at bigint,
  PRIMARY KEY (origin, id)
)`,
    'CREATE INDEX {inbox_by_expiry} ON {inbox} (expires_at) WHERE expires_at IS NOT NULL',
    'CREATE INDEX {inbox_by_age} ON {inbox} (received_at) WHERE ack IS NOT NULL AND expires_at IS NULL',
  ],
  [
    // One body for all deliveries of an activity, and the order of deliveries.
    `CREATE TABLE {outbox_bodies} (
  id {text} PRIMARY KEY,
  payload text NOT NULL,
  created_at bigint NOT NULL
)`,
    'CREATE INDEX {outbox_bodies_by_age} ON {outbox_bodies} (created_at)',
    'ALTER TABLE {delivery_jobs} ADD COLUMN body_id {text}',
    'ALTER TABLE {delivery_jobs} ADD COLUMN order_key {text}',
    'ALTER TABLE {delivery_jobs} ADD COLUMN seq bigint',
    'CREATE INDEX {delivery_jobs_by_body} ON {delivery_jobs} (body_id) WHERE body_id IS NOT NULL',
    'CREATE INDEX {delivery_jobs_by_order} ON {delivery_jobs} (server_url, order_key, seq) WHERE order_key IS NOT NULL',
  ],
  [
    `CREATE TABLE {peer_states} (
  origin {text} PRIMARY KEY,
  state {text} NOT NULL,
  failures integer NOT NULL,
  first_failed_at bigint,
  last_success_at bigint,
  next_contact_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  version integer NOT NULL
)`,
    `CREATE INDEX {peer_states_by_contact} ON {peer_states} (next_contact_at) WHERE state <> 'healthy'`,
  ],
  [
    // Errors of the server to one delivery; what waits for a peer, oldest first; servers that say that they have ended.
    'ALTER TABLE {delivery_jobs} ADD COLUMN refused integer NOT NULL DEFAULT 0',
    `CREATE INDEX {delivery_jobs_waiting} ON {delivery_jobs} (server_url, created_at, id) WHERE status = 'open'`,
    'ALTER TABLE {peer_states} ADD COLUMN gone_probes integer NOT NULL DEFAULT 0',
    'ALTER TABLE {peer_states} ADD COLUMN gone_since bigint',
    'DROP INDEX {peer_states_by_contact}',
    'CREATE INDEX {peer_states_by_change} ON {peer_states} (changed_at)',
  ],
]

const migrationTable = 'CREATE TABLE {migrations} (number integer PRIMARY KEY, checksum text NOT NULL)'

const checksumOf = (step: readonly string[]): string => createHash('sha256').update(step.join(';\n')).digest('hex')

const render = (text: string, prefix: string, dialect: Dialect): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'text' ? dialect.text : `${prefix}${name}`))

/** Returns the statements of the remaining steps. @param done number of steps that are done */
export function migrationPlan(prefix: string, dialect: Dialect, done = 0): string[] {
  const plan = done > 0 ? [] : [migrationTable]
  for (let index = done; index < steps.length; index++) {
    plan.push(...steps[index]!, `INSERT INTO {migrations} VALUES (${index + 1}, '${checksumOf(steps[index]!)}')`)
  }
  return plan.map((text) => render(text, prefix, dialect))
}

/** @throws FederationError MIGRATION_PENDING, StorageError if the tables were made by other steps */
export async function checkMigrated(database: OpenDatabase, dialect: Dialect, prefix: string): Promise<void> {
  const done = await countDone(readerOf(database), prefix, dialect)
  if (done === steps.length) return
  throw new FederationError(
    'MIGRATION_PENDING',
    `the tables ${prefix}… have ${done} of ${steps.length} migrations. Run store.migrate(), or open the store with migrate: true.`,
  )
}

/** Runs the remaining steps in one transaction. A lock lets one process at a time migrate. */
export async function migrate(database: OpenDatabase, dialect: Dialect, prefix: string): Promise<void> {
  // Up-to-date tables need no lock.
  if ((await countDone(readerOf(database), prefix, dialect)) === steps.length) return
  await database.transaction(async (tx) => {
    if (dialect.lock !== undefined) await tx.query(dialect.lock, [lockNumber(prefix)])
    const done = await countDone(tx, prefix, dialect)
    if (done === steps.length) return
    for (const text of migrationPlan(prefix, dialect, done)) await tx.query(text)
  })
}

const readerOf = (database: OpenDatabase): Connection => ({
  query: (text, values = []) => database.read(text, values),
})

const lockNumber = (prefix: string): string =>
  String(
    BigInt.asIntN(64, BigInt(`0x${createHash('sha256').update(`federation ${prefix}`).digest('hex').slice(0, 16)}`)),
  )

/** Returns the number of steps that are done. They must be the first ones of `steps`. */
async function countDone(connection: Connection, prefix: string, dialect: Dialect): Promise<number> {
  const table = `${prefix}migrations`
  if ((await connection.query(dialect.findTable, [table])).length === 0) return 0
  const done = await connection.query(
    `SELECT CAST(number AS text) AS c0, CAST(checksum AS text) AS c1 FROM ${table} ORDER BY number`,
  )
  if (done.length > steps.length) {
    throw refused(
      prefix,
      `have ${done.length} migrations, and this version knows ${steps.length}. Install a newer version.`,
    )
  }
  done.forEach(([number, checksum], index) => {
    if (Number(number) === index + 1 && checksum === checksumOf(steps[index]!)) return
    throw refused(prefix, `were made by other migrations: number ${index + 1} differs. Use another prefix.`)
  })
  return done.length
}

const refused = (prefix: string, problem: string): StorageError =>
  new StorageError(`the tables ${prefix}… ${problem}`, { maybeApplied: false })
