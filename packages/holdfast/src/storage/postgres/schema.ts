// The schema, as the steps that lead to it. Codes are generated from their tables.
// Invariant: a step that was published never changes. Its checksum is stored in the database (migrations.ts).

import { stateCodes } from '../rules/job/codes.ts'
import { kindCodes, readyCodes } from './sql/job-columns.ts'

// Not stateNames: a state that is appended later must not change a published step.
const states = ['scheduled', 'blocked', 'queued', 'processing', 'failing', 'completed', 'failed', 'cancelled'] as const

/** `$` stands for the schema. Instants are epoch ms, possibly with a fraction; text is compared by its bytes. */
export const steps: readonly (readonly string[])[] = [
  [
    `CREATE TABLE $.types (
       tid integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
       name text COLLATE "C" NOT NULL UNIQUE,
       paused_since double precision,
       paused_by text,
       -- Priorities that its jobs ever had: a claim scans each by itself.
       priorities smallint[] NOT NULL DEFAULT '{0}'
     )`,
    'CREATE SEQUENCE $.numbers',
    `CREATE TABLE $.jobs (
       seq bigint NOT NULL, -- order of acceptance
       tid integer NOT NULL,
       state smallint NOT NULL, -- ${states.map((name) => `${stateCodes[name]}: ${name}`).join(', ')}
       kind smallint NOT NULL, -- ${kindCodes.alone}: tied to nothing; ${kindCodes.marked}: has a key or a cancellation request; ${kindCodes.linked}: has a group, chain, blockers or dependents
       priority smallint NOT NULL,
       ready smallint, -- ${readyCodes.ready}: may be claimed once due; ${readyCodes.aside}: waits behind the head of its group; NULL: does not wait
       attempt integer NOT NULL,
       failures integer NOT NULL,
       max_attempts double precision,
       keep_ms double precision NOT NULL, -- number of its retention (storage/retention.ts); NaN: see more.retention
       created_at double precision NOT NULL,
       run_at double precision NOT NULL,
       ord bigint NOT NULL, -- breaks ties of run_at
       started_at double precision,
       lease_until double precision, -- set while in processing
       finished_at double precision,
       expires_at double precision, -- of the chain; on its first job
       sweep_at double precision, -- equal to expires_at, or NULL while other jobs need the record
       chain bigint, -- seq of the first job of its chain, if that is another
       tail bigint, -- seq of the last job of the chain, if that is another; on its first job
       dependents integer, -- number of unfinished jobs that wait for the chain; on its first job
       by_holder boolean, -- completed by the worker that held the lease
       under boolean, -- its root is another chain
       id text COLLATE "C" NOT NULL,
       token text COLLATE "C" NOT NULL,
       grp text COLLATE "C",
       worker text COLLATE "C",
       label text,
       more text, -- JSON of rare fields
       attempts text, -- ended attempts without the one that completed the job; a line of JSON each
       error bytea,
       result bytea,
       payload bytea
     )`,
    'CREATE UNIQUE INDEX jobs_id ON $.jobs (tid, id)',
    `CREATE INDEX jobs_ready ON $.jobs (tid, priority, run_at, ord) WHERE ready = ${readyCodes.ready}`,
    `CREATE INDEX jobs_leases ON $.jobs (tid, lease_until) WHERE state = ${stateCodes.processing}`,
    'CREATE INDEX jobs_ended ON $.jobs (sweep_at) WHERE sweep_at IS NOT NULL',
    'CREATE INDEX jobs_created ON $.jobs (created_at)',
    `CREATE UNIQUE INDEX jobs_seq ON $.jobs (seq) WHERE kind = ${kindCodes.linked}`,
    'CREATE INDEX jobs_chain ON $.jobs (chain, seq) WHERE chain IS NOT NULL',
    `CREATE INDEX jobs_members ON $.jobs (tid, grp, seq) WHERE grp IS NOT NULL AND state < ${stateCodes.completed}`,
    `CREATE TABLE $.groups (
       tid integer NOT NULL,
       key text COLLATE "C" NOT NULL,
       running bigint, -- seq of the job in processing
       placed bigint, -- seq of its head, while that may be claimed
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
       until double precision NOT NULL, -- Infinity: as long as the job's record
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
  [
    // In the order in which they are listed and swept by count (verbs/list-place.ts).
    `CREATE INDEX jobs_seldom ON $.jobs (tid, state, (coalesce(sweep_at, finished_at, created_at)), seq)
       WHERE state IN (${stateCodes.blocked}, ${stateCodes.failed}, ${stateCodes.cancelled})
         OR (state = ${stateCodes.completed} AND (sweep_at IS NULL OR tail IS NOT NULL))`,
    // Jobs that were added with a deadline. A row stays until its instant, or until the job is deleted.
    `CREATE TABLE $.deadlines (
       seq bigint PRIMARY KEY,
       tid integer NOT NULL,
       id text COLLATE "C" NOT NULL,
       at double precision NOT NULL
     )`,
    'CREATE INDEX deadlines_at ON $.deadlines (at, seq)',
    // What attempts reported; a job that reported nothing has no row.
    `CREATE TABLE $.reports (
       seq bigint PRIMARY KEY,
       progress bytea,
       lines bigint NOT NULL -- log lines that were ever written
     )`,
    // The newest log lines, and some that are not deleted yet.
    `CREATE TABLE $.log (
       seq bigint NOT NULL,
       n bigint NOT NULL,
       attempt integer NOT NULL,
       at double precision NOT NULL,
       line bytea NOT NULL,
       PRIMARY KEY (seq, n)
     )`,
    // A row per search field of a job. The bytes of a value sort as the values do (sql/search-value.ts).
    `CREATE TABLE $.search (
       seq bigint NOT NULL,
       name text COLLATE "C" NOT NULL,
       value bytea NOT NULL,
       tid integer NOT NULL,
       created_at double precision NOT NULL,
       id text COLLATE "C" NOT NULL,
       PRIMARY KEY (seq, name)
     )`,
    // Types whose events some process listens to.
    `CREATE TABLE $.watches (
       tid integer NOT NULL,
       instance text NOT NULL,
       until double precision NOT NULL,
       PRIMARY KEY (tid, instance)
     )`,
    'CREATE INDEX search_value ON $.search (tid, name, value, created_at, seq)',
  ],
  [
    // Keys whose jobs have their payload replaced, and keys with a version.
    'ALTER TABLE $.keys ADD COLUMN replaced_by text COLLATE "C", ADD COLUMN version bigint',
    'DROP INDEX $.keys_until',
    `CREATE INDEX keys_until ON $.keys (until) WHERE mode <> 'simple' AND until < 'Infinity'`,
  ],
  [
    // Groups in a ring, and limits (storage/rules/flow.ts). All groups were ordered before.
    `ALTER TABLE $.groups
       ADD COLUMN ordered boolean NOT NULL DEFAULT true,
       ADD COLUMN size integer NOT NULL DEFAULT 0, -- unfinished members
       ADD COLUMN turn_at double precision, -- NULL: not in the ring
       ADD COLUMN turn bigint NOT NULL DEFAULT 0,
       ADD COLUMN is_full boolean NOT NULL DEFAULT false,
       ADD COLUMN held_by text, -- JSON: ids of failed jobs
       ADD COLUMN slowed_until double precision NOT NULL DEFAULT 0,
       ADD COLUMN rate_free_at double precision NOT NULL DEFAULT 0,
       ADD COLUMN rate text, -- JSON: counted starts
       -- Set if only a rate or a slow-down needs the row, until then.
       ADD COLUMN needed_until double precision`,
    `INSERT INTO $.groups (tid, key)
       SELECT DISTINCT tid, grp FROM $.jobs WHERE grp IS NOT NULL AND state < ${stateCodes.completed} ON CONFLICT DO NOTHING`,
    // It was the seq of the job in processing, and is a number of jobs now.
    'UPDATE $.groups SET running = 0',
    `UPDATE $.groups AS g SET size = m.size, running = m.running
       FROM (
         SELECT tid, grp, count(*) AS size, count(*) FILTER (WHERE state = ${stateCodes.processing}) AS running
         FROM $.jobs WHERE grp IS NOT NULL AND state < ${stateCodes.completed} GROUP BY tid, grp
       ) AS m
       WHERE m.tid = g.tid AND m.grp = g.key`,
    // A group whose head waits enters the ring.
    `UPDATE $.groups AS g SET turn_at = h.run_at, turn = h.ord
       FROM (
         SELECT DISTINCT ON (tid, grp) tid, grp, run_at, ord, ready
         FROM $.jobs WHERE grp IS NOT NULL AND state < ${stateCodes.completed} ORDER BY tid, grp, seq
       ) AS h
       WHERE h.tid = g.tid AND h.grp = g.key AND h.ready IS NOT NULL AND g.running = 0 AND g.paused_since IS NULL`,
    `UPDATE $.jobs SET ready = ${readyCodes.aside} WHERE grp IS NOT NULL AND ready = ${readyCodes.ready}`,
    `ALTER TABLE $.groups DROP COLUMN placed, ALTER COLUMN running SET DEFAULT 0, ALTER COLUMN running SET NOT NULL`,
    'CREATE INDEX groups_ring ON $.groups (tid, turn_at, turn) WHERE turn_at IS NOT NULL',
    'CREATE INDEX groups_needed ON $.groups (needed_until) WHERE needed_until IS NOT NULL',
    // Waiting members, as a claim of their group takes them.
    `CREATE INDEX jobs_aside ON $.jobs (tid, grp, priority, run_at, ord) WHERE ready = ${readyCodes.aside}`,
    `ALTER TABLE $.types
       ADD COLUMN grouped boolean NOT NULL DEFAULT false, -- one of its jobs had a group
       ADD COLUMN flow text, -- JSON: turns and limits in use
       -- Its claims and settles need the rules: it is slowed, or may be full.
       ADD COLUMN ruled boolean`,
    'UPDATE $.types SET grouped = true WHERE tid IN (SELECT tid FROM $.groups)',
    'CREATE INDEX types_ruled ON $.types (tid) WHERE ruled',
  ],
  [
    // Free slots that workers offer (fast/hand-over.ts). After a crash there are none: they are over after half a second anyway. So they
    // are not logged, and a claim that writes nothing else waits for no disk. The free space lets a row be replaced on its page.
    `CREATE UNLOGGED TABLE $.offers (
       tid integer NOT NULL,
       by text COLLATE "C" NOT NULL, -- name of the worker
       worker text COLLATE "C" NOT NULL, -- of the claim that offers
       label text,
       slots integer NOT NULL, -- that are left
       until double precision NOT NULL,
       PRIMARY KEY (tid, by)
     ) WITH (fillfactor = 50)`,
  ],
]

/** Tables that clear() empties. Listeners stay, and so do their watches. */
export const tables = [
  'jobs',
  'groups',
  'keys',
  'dependents',
  'kv',
  'deadlines',
  'reports',
  'log',
  'search',
  'offers',
] as const
