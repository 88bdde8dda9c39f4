// Invariants of the tables between any two transactions: stored counts equal the number of rows, and no row of another table
// outlives the jobs that it belongs to.

import assert from 'node:assert/strict'
import type { DatabaseSync } from 'node:sqlite'
import type { SqliteStorage } from 'holdfast/sqlite'
import { logBytesKept, logLinesKept, stateCodes, stateNames } from '../../../src/storage/rules/job/codes.ts'
import { statementsOf } from '../../../src/storage/sqlite/connection/statements.ts'
import { OpenClaims } from '../../../src/storage/sqlite/rules/open-claims.ts'
import { tables } from '../../../src/storage/sqlite/migrations.ts'

/** The kind of group that a job was added to. */
const membership = "coalesce(job.more ->> '$.membership', 'ordered')"

const { scheduled, blocked, queued, processing, failing, completed } = stateCodes

const groupsOfJobs = `(
  SELECT tid, grp, count(*) AS size, count(*) FILTER (WHERE state = ${processing}) AS running FROM holdfast_jobs AS job
  WHERE grp IS NOT NULL AND state < ${completed} GROUP BY tid, grp)`

/** Rows of a table that belong to jobs. */
const orphans = (table: string): string => `SELECT seq FROM ${table} WHERE seq NOT IN (SELECT seq FROM holdfast_jobs)`

const wrongs: Readonly<Record<string, string>> = {
  'a payload without its job': `
    SELECT seq FROM holdfast_payloads AS part WHERE NOT EXISTS (
      SELECT 1 FROM holdfast_jobs AS job
      WHERE job.seq = part.seq AND typeof(job.payload) <> 'blob' AND job.payload = length(part.payload))`,
  'a job without its payload': `
    SELECT seq FROM holdfast_jobs AS job WHERE typeof(payload) IN ('integer', 'real')
      AND NOT EXISTS (SELECT 1 FROM holdfast_payloads AS part WHERE part.seq = job.seq)`,
  'a group that nothing needs, and no sweep deletes': `
    SELECT * FROM holdfast_groups
    WHERE (size = 0 AND paused_since IS NULL AND more ->> '$.heldBy' IS NULL) <> (until IS NOT NULL)`,
  'a group whose numbers are not those of its jobs': `
    SELECT * FROM holdfast_groups AS grp LEFT JOIN ${groupsOfJobs} AS counted
      ON counted.tid = grp.tid AND counted.grp = grp.key
    WHERE grp.size <> coalesce(counted.size, 0) OR grp.running <> coalesce(counted.running, 0)`,
  'jobs without their group': `
    SELECT * FROM ${groupsOfJobs} AS counted WHERE NOT EXISTS (
      SELECT 1 FROM holdfast_groups AS grp WHERE grp.tid = counted.tid AND grp.key = counted.grp)`,
  'two kinds of jobs in a group, or another kind than it says': `
    SELECT job.tid, job.grp FROM holdfast_jobs AS job JOIN holdfast_groups AS grp ON grp.tid = job.tid AND grp.key = job.grp
    WHERE state < ${completed} AND ordered <> (${membership} <> 'unordered')`,
  'two running jobs of an ordered group': `
    SELECT * FROM holdfast_groups WHERE ordered = 1 AND running > 1`,
  'a group in the ring that cannot start a job, or one that can and is not': `
    SELECT * FROM holdfast_groups AS grp WHERE (turn_at IS NOT NULL) <> (
      paused_since IS NULL AND more ->> '$.heldBy' IS NULL AND more ->> '$.isFull' IS NULL
      AND (ordered = 0 OR running = 0) AND EXISTS (
        SELECT 1 FROM holdfast_jobs AS job WHERE job.tid = grp.tid AND job.grp = grp.key AND line = 0
          AND (ordered = 0 OR seq = (
            SELECT min(seq) FROM holdfast_jobs AS member
            WHERE member.tid = grp.tid AND member.grp = grp.key AND state < ${completed}))))`,
  'members that are not the jobs of the group': `
    SELECT * FROM (
      SELECT tid, key, rank, at, ord, seq FROM holdfast_members
      UNION ALL
      SELECT tid, grp, 0, 0, seq, seq FROM holdfast_jobs AS job
      WHERE grp IS NOT NULL AND state < ${completed} AND ${membership} <> 'unordered'
      UNION ALL
      SELECT tid, grp, -priority, run_at, ord, seq FROM holdfast_jobs AS job
      WHERE grp IS NOT NULL AND line = 0 AND ${membership} = 'unordered')
    GROUP BY tid, key, rank, at, ord, seq HAVING count(*) <> 2`,
  'a job that waits in the wrong place': `
    SELECT id, grp, line FROM holdfast_jobs WHERE line <> (grp IS NULL)`,
  'a type that does not know of its groups': `
    SELECT * FROM holdfast_types WHERE has_groups = 0 AND tid IN (SELECT tid FROM holdfast_groups)`,
  'a dependent that has ended or is gone': `
    SELECT * FROM holdfast_dependents AS dep WHERE NOT EXISTS (
      SELECT 1 FROM holdfast_jobs AS job WHERE job.seq = dep.seq AND state < ${completed})`,
  'a number of dependents that is not that of the rows': `
    SELECT id, more FROM holdfast_jobs AS job WHERE coalesce(more ->> '$.dependents', 0) <> (
      SELECT count(*) FROM holdfast_dependents AS dep WHERE dep.tid = job.tid AND dep.id = job.id)`,
  // The version of an ascending key outlives its job.
  'a key without a holder and without a window': `
    SELECT * FROM holdfast_keys AS held WHERE until IS NULL AND mode <> 'ascending' AND NOT EXISTS (
      SELECT 1 FROM holdfast_jobs AS job WHERE job.tid = held.tid AND job.id = held.id AND job.token = held.token)`,
  'a lease of a job that does not run, or none of one that does': `
    SELECT id, state FROM holdfast_jobs WHERE (state = ${processing}) <> (lease_until IS NOT NULL)`,
  'a ready mark of a job that does not wait, or none of one that does': `
    SELECT id, state, line FROM holdfast_jobs WHERE (state IN (${scheduled}, ${queued}, ${failing})) <> (line IS NOT NULL)`,
  'a place that is not that of the job, or a job without its place': `
    SELECT * FROM (
      SELECT tid, state, at, seq FROM holdfast_places
      UNION ALL
      SELECT tid, state, coalesce(finished_at, run_at), seq FROM holdfast_jobs AS job
      WHERE state IN (${blocked}, ${failing}) OR (state >= ${completed} AND sweep_at IS NULL))
    GROUP BY tid, state, at, seq HAVING count(*) <> 2`,
  'a deadline that is not that of the job, or a job without its deadline': `
    SELECT * FROM (
      SELECT at, seq FROM holdfast_deadlines
      UNION ALL
      SELECT more ->> '$.deadlineAt', seq FROM holdfast_jobs WHERE more ->> '$.deadlineAt' IS NOT NULL)
    GROUP BY at, seq HAVING count(*) <> 2`,
  'search fields that are not those of the job': `
    SELECT seq, count(*) AS number FROM holdfast_search AS field GROUP BY seq HAVING number IS NOT (
      SELECT json_array_length(more, '$.search') FROM holdfast_jobs AS job WHERE job.seq = field.seq)`,
  'a job without its search fields': `
    SELECT seq FROM holdfast_jobs WHERE json_array_length(more, '$.search') > 0
      AND seq NOT IN (SELECT seq FROM holdfast_search)`,
  'progress of a job that is gone': orphans('holdfast_progress'),
  'lines of a job that is gone': orphans('holdfast_lines'),
  'lines beyond the bounds': `
    SELECT seq FROM holdfast_lines GROUP BY seq
    HAVING count(*) > ${logLinesKept} OR (count(*) > 1 AND sum(length(line)) > ${logBytesKept})`,
  'a job of a chain that is gone': `
    SELECT id FROM holdfast_jobs AS job WHERE chain IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM holdfast_jobs AS first WHERE first.seq = job.chain)`,
}

/** Jobs of open claims (rules/open-claims.ts) whose rows are not those of queued jobs that are ready, or in more than one claim. */
const wrongClaims = `
  SELECT held.value FROM holdfast_claims AS claim CROSS JOIN json_each(claim.seqs) AS held
  LEFT JOIN holdfast_jobs AS job ON job.seq = held.value
  GROUP BY held.value HAVING count(*) > 1 OR NOT coalesce(
    job.tid = claim.tid AND state = ${queued} AND line = 1 AND job.priority = claim.priority AND grp IS NULL AND chain IS NULL
    AND (job.run_at, job.ord) <= (claim.run_at, claim.ord), 0)`

export function checkTables(db: DatabaseSync): void {
  assert.deepEqual(db.prepare(wrongClaims).all(), [], 'a job that an open claim cannot hold')
  assert.deepEqual(
    db.prepare("SELECT * FROM holdfast_claims WHERE seqs = '[]'").all(),
    [],
    'an open claim without jobs',
  )
  // The invariants are those of rows that have their leases.
  db.exec('SAVEPOINT check_tables')
  try {
    new OpenClaims(statementsOf(db)).writeOut()
    checkRows(db)
  } finally {
    db.exec('ROLLBACK TO check_tables; RELEASE check_tables')
  }
}

function checkRows(db: DatabaseSync): void {
  for (const [what, sql] of Object.entries(wrongs)) assert.deepEqual(db.prepare(sql).all(), [], what)
  const counted = db.prepare(`SELECT tid, ${stateNames.join(', ')} FROM holdfast_types`).all() as Counts[]
  const rows = db.prepare('SELECT tid, state, count(*) AS number FROM holdfast_jobs GROUP BY tid, state').all()
  for (const { tid, ...states } of counted) {
    const expected = Object.fromEntries(stateNames.map((name) => [name, 0]))
    for (const row of rows as Counts[]) if (row.tid === tid) expected[stateNames[row.state!]!] = row.number!
    assert.deepEqual({ ...states }, expected, 'a count that is not that of the rows')
  }
}

type Counts = Record<string, number>

/** The number of rows of each table. */
export function rowCounts(db: DatabaseSync): Record<string, number> {
  return Object.fromEntries(
    tables.map((table) => [table, (db.prepare(`SELECT count(*) AS number FROM ${table}`).get() as Counts).number!]),
  )
}

/** Runs on the connection of the storage: a database in memory has no other. */
export async function inspect<T>(storage: SqliteStorage, run: (db: DatabaseSync) => T): Promise<T> {
  return storage.transaction(async ({ database }) => run(database))
}
