// The schema, as the steps that lead to it. A step that was published never changes: its checksum is kept in the database,
// and a database whose steps differ from these, or are more than these, is refused.

import { createHash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { StorageError } from '../../errors.ts'

// Tables that hold instants are not STRICT: a delay may have a fraction of a millisecond, and so may what is due by it.
const steps: readonly string[] = [
  `
  CREATE TABLE holdfast_types (
    tid INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- How many jobs are in each state, kept up to date by every move.
    scheduled INTEGER NOT NULL DEFAULT 0, blocked INTEGER NOT NULL DEFAULT 0, queued INTEGER NOT NULL DEFAULT 0,
    processing INTEGER NOT NULL DEFAULT 0, failing INTEGER NOT NULL DEFAULT 0, completed INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0, cancelled INTEGER NOT NULL DEFAULT 0,
    paused_since INTEGER, paused_by TEXT
  ) STRICT;

  CREATE TABLE holdfast_jobs (
    seq INTEGER PRIMARY KEY, -- its place among all jobs ever accepted
    tid INTEGER NOT NULL,
    id TEXT NOT NULL,
    token TEXT NOT NULL,
    state INTEGER NOT NULL, -- scheduled, blocked, queued, processing, failing, completed, failed, cancelled: 0 … 7
    attempt INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    max_attempts INTEGER,
    priority INTEGER NOT NULL,
    grp TEXT,
    keep_ms INTEGER, -- of all three ends; -1: for ever; NULL: they differ, see more.retention
    created_at INTEGER NOT NULL,
    run_at INTEGER NOT NULL,
    ord INTEGER NOT NULL, -- breaks ties of run_at
    line INTEGER, -- 1: may be claimed once due; 0: waits behind the head of its group; NULL: does not wait
    worker TEXT, label TEXT, started_at INTEGER,
    lease_until INTEGER, -- in processing only
    finished_at INTEGER,
    by_holder INTEGER, -- 1: completed by the worker that held it
    payload BLOB, -- bytes; or their number, if they are in holdfast_payloads
    result BLOB,
    error BLOB,
    chain INTEGER, -- the first job of its chain, if that is another
    expires_at INTEGER, -- of the chain, on its first job
    sweep_at INTEGER, -- the same, unless somebody needs the record
    more TEXT, -- JSON of what few jobs have
    UNIQUE (tid, id)
  );
  CREATE INDEX holdfast_line ON holdfast_jobs (tid, line, priority DESC, run_at, ord) WHERE line IS NOT NULL;
  CREATE INDEX holdfast_later ON holdfast_jobs (tid, run_at, state) WHERE state IN (0, 4);
  CREATE INDEX holdfast_leases ON holdfast_jobs (tid, lease_until) WHERE lease_until IS NOT NULL;
  CREATE INDEX holdfast_ended ON holdfast_jobs (sweep_at) WHERE sweep_at IS NOT NULL;
  CREATE INDEX holdfast_members ON holdfast_jobs (tid, grp, seq) WHERE grp IS NOT NULL AND state < 5;
  CREATE INDEX holdfast_chains ON holdfast_jobs (chain) WHERE chain IS NOT NULL;
  CREATE INDEX holdfast_created ON holdfast_jobs (created_at);

  -- Apart, so that a row that changes often stays small.
  CREATE TABLE holdfast_payloads (seq INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT;

  CREATE TABLE holdfast_groups (
    tid INTEGER NOT NULL, key TEXT NOT NULL, running INTEGER, placed INTEGER, paused_since INTEGER, paused_by TEXT,
    PRIMARY KEY (tid, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE holdfast_keys (
    tid INTEGER NOT NULL, key TEXT NOT NULL, id TEXT NOT NULL, token TEXT NOT NULL, mode TEXT NOT NULL,
    shared INTEGER NOT NULL, until INTEGER, -- NULL: as long as its record
    PRIMARY KEY (tid, key)
  ) WITHOUT ROWID;
  CREATE INDEX holdfast_windows ON holdfast_keys (until) WHERE mode = 'throttle' AND until IS NOT NULL;

  -- Unfinished jobs that name the chain (tid, id) as a blocker.
  CREATE TABLE holdfast_dependents (
    tid INTEGER NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (tid, id, seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE holdfast_kv (
    key TEXT PRIMARY KEY, value BLOB NOT NULL, until INTEGER, created INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX holdfast_kv_until ON holdfast_kv (until) WHERE until IS NOT NULL;

  CREATE TABLE holdfast_numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO holdfast_numbers VALUES ('last', 0), ('kv', 0), ('listeners', 0);
  `,
]

export const tables = [
  'holdfast_jobs',
  'holdfast_payloads',
  'holdfast_groups',
  'holdfast_keys',
  'holdfast_dependents',
  'holdfast_kv',
  'holdfast_types',
] as const

/** Nothing is left to do. @throws STORAGE_ERROR if it was made by other steps than these */
export function isMigrated(db: DatabaseSync): boolean {
  const known = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'holdfast_migrations'").get()
  return known !== undefined && countDone(db) === steps.length
}

/** In a transaction of the caller's, so that two processes that open a new database at once do it one after the other. */
export function migrate(db: DatabaseSync): void {
  db.exec('CREATE TABLE IF NOT EXISTS holdfast_migrations (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL) STRICT')
  for (let index = countDone(db); index < steps.length; index++) {
    db.exec(steps[index]!)
    db.prepare('INSERT INTO holdfast_migrations VALUES (?, ?)').run(index + 1, checksumOf(steps[index]!))
  }
}

/** The steps that are done, which must be the first of ours. */
function countDone(db: DatabaseSync): number {
  const done = db.prepare('SELECT number, checksum FROM holdfast_migrations ORDER BY number').all() as unknown as {
    number: number
    checksum: string
  }[]
  if (done.length > steps.length) {
    throw schemaError(`has ${done.length} schema steps, and this version knows ${steps.length}: use a newer version`)
  }
  done.forEach(({ number, checksum }, index) => {
    if (number === index + 1 && checksum === checksumOf(steps[index]!)) return
    throw schemaError(`was made by other steps than these: step ${index + 1} differs. Use another file`)
  })
  return done.length
}

const checksumOf = (step: string): string => createHash('sha256').update(step).digest('hex')

const schemaError = (problem: string): StorageError =>
  new StorageError(`the SQLite database ${problem}`, { maybeApplied: false })
