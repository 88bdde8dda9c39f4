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
]

/** Tables that clear() empties. Listeners stay, and so do their watches. */
export const tables = ['jobs', 'groups', 'keys', 'dependents', 'kv', 'deadlines', 'reports', 'log', 'search'] as const
