// The schema, as the steps that create it. A published step never changes: its checksum is stored in the database. A database
// with other steps, or with more of them, is refused.

import { createHash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { stateCodes } from '../rules/job/codes.ts'

// Numbers may be inserted: a number that was stored never changes its meaning. Lists of states may not: they grow.
const { scheduled, blocked, queued, processing, failing, completed } = stateCodes

// Tables with instants are not STRICT: a delay may have a fraction of a millisecond, and so may the instant it leads to.
const steps: readonly string[] = [
  `
  CREATE TABLE holdfast_types (
    tid INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- The number of jobs in each state, updated by every call that changes one.
    scheduled INTEGER NOT NULL DEFAULT 0, blocked INTEGER NOT NULL DEFAULT 0, queued INTEGER NOT NULL DEFAULT 0,
    processing INTEGER NOT NULL DEFAULT 0, failing INTEGER NOT NULL DEFAULT 0, completed INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0, cancelled INTEGER NOT NULL DEFAULT 0,
    paused_since INTEGER, paused_by TEXT
  ) STRICT;

  CREATE TABLE holdfast_jobs (
    seq INTEGER PRIMARY KEY, -- its number among all jobs ever accepted
    tid INTEGER NOT NULL,
    id TEXT NOT NULL,
    token TEXT NOT NULL,
    state INTEGER NOT NULL, -- as a number: storage/rules/job/codes.ts
    attempt INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    max_attempts INTEGER,
    priority INTEGER NOT NULL,
    grp TEXT,
    keep_ms INTEGER, -- number of its retention (storage/retention.ts); NULL: see more.retention
    created_at INTEGER NOT NULL,
    run_at INTEGER NOT NULL,
    ord INTEGER NOT NULL, -- breaks ties of run_at
    ready INTEGER, -- 1: may be claimed once due; 0: behind the head of its group, or paused; NULL: does not wait
    worker TEXT, label TEXT, started_at INTEGER,
    lease_until INTEGER, -- in processing only
    finished_at INTEGER,
    by_holder INTEGER, -- 1: completed by the worker that held it
    payload BLOB, -- bytes; or their number, if they are in holdfast_payloads
    result BLOB,
    error BLOB,
    chain INTEGER, -- the first job of its chain, if that is another
    expires_at INTEGER, -- of the chain, on its first job
    sweep_at INTEGER, -- the same; NULL while a dependent needs the record
    more TEXT, -- JSON of the fields that few jobs have
    UNIQUE (tid, id)
  );
  CREATE INDEX holdfast_ready ON holdfast_jobs (tid, ready, priority DESC, run_at, ord) WHERE ready IS NOT NULL;
  CREATE INDEX holdfast_later ON holdfast_jobs (tid, run_at, state) WHERE state IN (${scheduled}, ${failing});
  CREATE INDEX holdfast_leases ON holdfast_jobs (tid, lease_until) WHERE lease_until IS NOT NULL;
  CREATE INDEX holdfast_ended ON holdfast_jobs (sweep_at) WHERE sweep_at IS NOT NULL;
  CREATE INDEX holdfast_members ON holdfast_jobs (tid, grp, seq) WHERE grp IS NOT NULL AND state < ${completed};
  CREATE INDEX holdfast_chains ON holdfast_jobs (chain) WHERE chain IS NOT NULL;
  CREATE INDEX holdfast_created ON holdfast_jobs (created_at);

  -- Large payloads, so that the rows that change often stay small.
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
  // Lists by place, counts to keep, deadlines, reports and search. A plain job writes neither a row nor an index entry more than
  // before. With two partial indexes instead of holdfast_places, its add, claim and settle took 10, 12 and 20 % more steps of
  // SQLite's virtual machine (108 instead of 98, 143 instead of 128, 109 instead of 91): it checks their conditions with every
  // write. Now only the settle takes two steps more.
  `
  DROP INDEX holdfast_ended;
  CREATE INDEX holdfast_ended ON holdfast_jobs (tid, state, sweep_at) WHERE sweep_at IS NOT NULL;

  -- What the indexes ready, leases and ended do not have: blocked jobs, and ended ones without a time to sweep (continued by
  -- others, needed by a dependent, or kept for ever). Failing jobs, too, which are few among those that are ready.
  CREATE TABLE holdfast_places (
    tid INTEGER NOT NULL, state INTEGER NOT NULL,
    at INTEGER NOT NULL, -- run_at; finished_at of an ended job
    seq INTEGER NOT NULL, PRIMARY KEY (tid, state, at, seq)
  ) WITHOUT ROWID;
  INSERT INTO holdfast_places SELECT tid, state, coalesce(finished_at, run_at), seq FROM holdfast_jobs
    WHERE state IN (${blocked}, ${failing}) OR (state >= ${completed} AND sweep_at IS NULL);

  -- Jobs that must begin by an instant, until they begin or end.
  CREATE TABLE holdfast_deadlines (at INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (at, seq)) WITHOUT ROWID;

  CREATE TABLE holdfast_progress (seq INTEGER PRIMARY KEY, progress BLOB NOT NULL) STRICT;
  CREATE TABLE holdfast_lines (
    seq INTEGER NOT NULL,
    number INTEGER NOT NULL, -- of all lines that the job ever logged, from 0: that of the oldest one kept is the number dropped
    attempt INTEGER NOT NULL,
    at INTEGER NOT NULL,
    start INTEGER NOT NULL, -- bytes of all lines before it
    line BLOB NOT NULL,
    PRIMARY KEY (seq, number)
  ) WITHOUT ROWID;

  CREATE TABLE holdfast_search (
    tid INTEGER NOT NULL,
    field BLOB NOT NULL,
    value REAL NOT NULL, -- a number; 'true' or 'false'; or a text as bytes: storage/sqlite/rules/search-keys.ts
    seq INTEGER NOT NULL,
    PRIMARY KEY (tid, field, value, seq)
  ) WITHOUT ROWID;
  `,
  // Keys whose jobs have their payload replaced, and keys with a version.
  `
  ALTER TABLE holdfast_keys ADD COLUMN replaced_by TEXT;
  ALTER TABLE holdfast_keys ADD COLUMN version INTEGER;
  DROP INDEX holdfast_windows;
  CREATE INDEX holdfast_windows ON holdfast_keys (until) WHERE mode <> 'simple' AND until IS NOT NULL;
  `,
  // Groups of both kinds, in a ring, and limits. The members of groups get a table, in the place of an index over all jobs: a
  // plain job writes nothing to it, and SQLite checks one condition less with each of its writes. All groups were ordered before.
  `
  CREATE TABLE holdfast_new_groups (
    tid INTEGER NOT NULL, key TEXT NOT NULL,
    ordered INTEGER NOT NULL,
    size INTEGER NOT NULL, -- unfinished members
    running INTEGER NOT NULL, -- members in processing
    turn_at INTEGER, turn INTEGER NOT NULL, -- its place in the ring; NULL: it is not in the ring
    paused_since INTEGER, paused_by TEXT,
    until INTEGER, -- without members, pause and holder: when nothing of it is needed any more
    more TEXT, -- JSON of what few groups have
    PRIMARY KEY (tid, key)
  ) WITHOUT ROWID;
  -- A group is in the ring from the runAt of its head, in the order in which the heads were ready.
  INSERT INTO holdfast_new_groups
    SELECT grp.tid, grp.grp, 1, grp.size, grp.running,
      CASE WHEN grp.running = 0 AND paused_since IS NULL AND head.state IN (${scheduled}, ${queued}, ${failing}) THEN head.run_at END,
      head.ord, paused_since, paused_by, NULL, NULL
    FROM (
      SELECT tid, grp, count(*) AS size, count(*) FILTER (WHERE state = ${processing}) AS running, min(seq) AS first
      FROM holdfast_jobs WHERE grp IS NOT NULL AND state < ${completed} GROUP BY tid, grp
    ) AS grp
    CROSS JOIN holdfast_jobs AS head ON head.seq = grp.first
    LEFT JOIN holdfast_groups AS old ON old.tid = grp.tid AND old.key = grp.grp;
  INSERT OR IGNORE INTO holdfast_new_groups
    SELECT tid, key, 0, 0, 0, NULL, 0, paused_since, paused_by, NULL, NULL FROM holdfast_groups WHERE paused_since IS NOT NULL;
  DROP TABLE holdfast_groups;
  ALTER TABLE holdfast_new_groups RENAME TO holdfast_groups;
  CREATE INDEX holdfast_ring ON holdfast_groups (tid, turn_at, turn) WHERE turn_at IS NOT NULL;
  CREATE INDEX holdfast_paused ON holdfast_groups (tid, key) WHERE paused_since IS NOT NULL;
  CREATE INDEX holdfast_lingering ON holdfast_groups (until) WHERE until IS NOT NULL;

  -- Of an ordered group: all unfinished members, by acceptance. Of an unordered one: those that wait, the best first.
  CREATE TABLE holdfast_new_members (
    tid INTEGER NOT NULL, key TEXT NOT NULL,
    rank INTEGER NOT NULL, -- the priority with its sign changed; 0 in an ordered group
    at INTEGER NOT NULL, -- run_at; 0 in an ordered group
    ord INTEGER NOT NULL, -- breaks ties of at; seq in an ordered group
    seq INTEGER NOT NULL, PRIMARY KEY (tid, key, rank, at, ord)
  ) WITHOUT ROWID;
  INSERT INTO holdfast_new_members SELECT tid, grp, 0, 0, seq, seq FROM holdfast_jobs
    WHERE grp IS NOT NULL AND state < ${completed};
  -- A job with a group waits aside; its group is ready instead.
  UPDATE holdfast_jobs SET ready = 0 WHERE ready = 1 AND seq IN (SELECT seq FROM holdfast_new_members);
  DROP INDEX holdfast_members;
  ALTER TABLE holdfast_new_members RENAME TO holdfast_members;

  ALTER TABLE holdfast_types ADD COLUMN has_groups INTEGER NOT NULL DEFAULT 0; -- 1: it may have rows in holdfast_groups
  ALTER TABLE holdfast_types ADD COLUMN flow TEXT; -- JSON of its turn and limits; NULL: it uses none of them
  UPDATE holdfast_types SET has_groups = 1 WHERE tid IN (SELECT tid FROM holdfast_groups);
  `,
  // Claims whose leases are not in the rows of their jobs (rules/open-claims.ts). A process of an earlier version that still has the
  // file open would claim these jobs again: without the column it knows, its claims and adds fail.
  `
  ALTER TABLE holdfast_jobs RENAME COLUMN ready TO line; -- 1: may be claimed once due; 0: aside; NULL: does not wait

  CREATE TABLE holdfast_claims (
    cid INTEGER PRIMARY KEY,
    tid INTEGER NOT NULL,
    priority INTEGER NOT NULL, run_at INTEGER NOT NULL, ord INTEGER NOT NULL, -- the position of its last job in the line
    worker TEXT NOT NULL, label TEXT, started_at INTEGER NOT NULL, lease_until INTEGER NOT NULL,
    seqs TEXT NOT NULL -- JSON of the jobs that it holds
  );
  `,
]

export const tables = [
  'holdfast_jobs',
  'holdfast_claims',
  'holdfast_payloads',
  'holdfast_places',
  'holdfast_deadlines',
  'holdfast_progress',
  'holdfast_lines',
  'holdfast_search',
  'holdfast_groups',
  'holdfast_members',
  'holdfast_keys',
  'holdfast_dependents',
  'holdfast_kv',
  'holdfast_types',
] as const

/** True if every step is done. @throws Error if the database has other steps */
export function isMigrated(db: DatabaseSync): boolean {
  const known = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'holdfast_migrations'").get()
  return known !== undefined && countDone(db) === steps.length
}

/** Runs in a transaction of the caller, so that two processes cannot migrate one database at the same time. */
export function migrate(db: DatabaseSync): void {
  db.exec('CREATE TABLE IF NOT EXISTS holdfast_migrations (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL) STRICT')
  for (let index = countDone(db); index < steps.length; index++) {
    db.exec(steps[index]!)
    db.prepare('INSERT INTO holdfast_migrations VALUES (?, ?)').run(index + 1, checksumOf(steps[index]!))
  }
}

/** The number of steps that are done: they must be the first ones of `steps`. */
function countDone(db: DatabaseSync): number {
  const done = db.prepare('SELECT number, checksum FROM holdfast_migrations ORDER BY number').all() as unknown as {
    number: number
    checksum: string
  }[]
  if (done.length > steps.length) {
    throw new Error(`it has ${done.length} schema steps, and this version knows ${steps.length}. Use a newer version.`)
  }
  done.forEach(({ number, checksum }, index) => {
    if (number === index + 1 && checksum === checksumOf(steps[index]!)) return
    throw new Error(`schema step ${index + 1} differs from this version's. Use another file.`)
  })
  return done.length
}

const checksumOf = (step: string): string => createHash('sha256').update(step).digest('hex')
