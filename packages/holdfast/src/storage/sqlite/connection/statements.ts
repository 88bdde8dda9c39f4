// Every statement on jobs, types, groups and keys, prepared at its first use by a connection: to prepare all of them takes
// longer than to open the database. Limits are written `? + 0`: SQLite plans a statement again whenever a bare parameter of its
// limit changes, which costs more than running the statement.
// Longer than others: a statement beside its neighbours shows what an index must serve.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { claimedColumns } from '../fast/claim.ts'
import { groupColumns } from '../rules/group.ts'
import { jobColumns } from '../rules/job.ts'
import { stateCodes, stateNames } from '../../rules/job/codes.ts'

const { queued, processing, completed, failed, cancelled } = stateCodes
const ended = `${completed}, ${failed}, ${cancelled}`

/** @param from jobs by their createdAt, or those of a list of candidates */
const list = (beyond: '<' | '>', order: 'ASC' | 'DESC', from = 'holdfast_jobs AS job'): string =>
  `SELECT seq FROM ${from} JOIN holdfast_types AS type USING (tid)
   WHERE created_at BETWEEN :low AND :high
     AND (:types IS NULL OR type.name IN (SELECT value FROM json_each(:types)))
     AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
     AND (:chains = 0 OR chain IS NULL)
     AND (:at IS NULL OR (created_at, type.name, job.id) ${beyond} (:at, :type, :id))
   ORDER BY created_at ${order}, type.name ${order}, job.id ${order}`

/** Of the next :most jobs by creation, the last instant, and that of the first job behind it. No row: there is none. */
const edge = (beyond: '<' | '>', order: 'ASC' | 'DESC', first: 'min' | 'max'): string =>
  `SELECT last, (SELECT ${first}(created_at) FROM holdfast_jobs
       WHERE created_at ${beyond} last AND created_at BETWEEN :low AND :high) AS next
   FROM (SELECT created_at AS last FROM holdfast_jobs WHERE created_at BETWEEN :low AND :high AND created_at < :end
         ORDER BY created_at ${order} LIMIT 1 OFFSET :most - 1)
   WHERE next IS NOT NULL`

const candidates = 'json_each(:seqs) AS candidate CROSS JOIN holdfast_jobs AS job ON job.seq = candidate.value'

interface Place {
  readonly table?: string
  readonly columns?: string
  readonly where: string
  readonly order: readonly [string, string]
}

/**
 * A part of an index, in its order: after a key, and up to a bound of the first column. In two steps, because SQLite cannot seek
 * to a pair of a column and a rowid: many jobs may have the same first column.
 */
function along(place: Place, beyond: '<' | '>', order: 'ASC' | 'DESC'): string {
  const { table = 'holdfast_jobs', columns = jobColumns, where } = place
  const [first, second] = place.order
  const within = beyond === '>' ? '<=' : '>='
  const rows = `SELECT ${columns} FROM ${table} WHERE ${where}`
  return `SELECT * FROM (${rows} AND ${first} = :first AND ${second} ${beyond} :second
       ORDER BY ${second} ${order} LIMIT :limit + 0)
     UNION ALL SELECT * FROM (${rows} AND ${first} ${beyond} :first AND ${first} ${within} :bound
       ORDER BY ${first} ${order}, ${second} ${order} LIMIT :limit + 0)
     LIMIT :limit + 0`
}

const up = (place: Place): string => along(place, '>', 'ASC')
const down = (place: Place): string => along(place, '<', 'DESC')

/** The indexes that a list follows (verbs/list-place.ts, verbs/list-search.ts). */
const places = {
  ready: { where: 'tid = :tid AND line = :ready AND priority = :priority', order: ['run_at', 'ord'] },
  leases: { where: 'tid = :tid AND lease_until IS NOT NULL', order: ['lease_until', 'seq'] },
  ended: { where: 'tid = :tid AND state = :state AND sweep_at IS NOT NULL', order: ['sweep_at', 'seq'] },
  places: {
    table: 'holdfast_places',
    columns: 'at, seq',
    where: 'tid = :tid AND state = :state',
    order: ['at', 'seq'],
  },
  search: {
    table: 'holdfast_search',
    columns: 'value, seq, (SELECT state FROM holdfast_jobs AS job WHERE job.seq = holdfast_search.seq)',
    where: 'tid = :tid AND field = :field',
    order: ['value', 'seq'],
  },
} as const satisfies Record<string, Place>

/** The records with an expiry of their own, of chains and of jobs inside them, that have expired and are not swept yet. */
const expiredRecords = `holdfast_types AS type CROSS JOIN holdfast_jobs AS first
  ON first.tid = type.tid AND first.state IN (${ended}) AND first.sweep_at <= ?`

const typeColumns = 'tid, name, paused_since, paused_by, has_groups, flow'

/** In the order of changingCells() (rules/job.ts). The last ones are those that an end or a renewal of a lease changes. */
const ending = 'state, lease_until, finished_at, by_holder, result, expires_at, sweep_at'
const changing = `attempt, failures, run_at, ord, line, worker, label, started_at, error, more, ${ending}`

/** The columns with a parameter each. */
const assigned = (columns: string): string =>
  columns
    .split(', ')
    .map((column) => `${column} = ?`)
    .join(', ')

const plainColumns =
  'seq, tid, id, token, max_attempts, priority, keep_ms, created_at, payload, state, attempt, failures, run_at, ord, line'

/** So many rows of newCells() (rules/job.ts). */
const plainJobs = (count: number): string =>
  `INTO holdfast_jobs (${plainColumns}) VALUES ${Array.from({ length: count }, () => '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, 1)').join(', ')}`

// OR FAIL: with ABORT, the default, SQLite copies each page before a statement of many rows changes it, so that it can undo the statement
// alone. That took 9 % of a claim and its settle. What fails here is undone with the whole call (connection/writer.ts).

/** Of a fast claim, on rows that are ready; and of a fast settle, on rows that it has leased. */
const lease = `UPDATE OR FAIL holdfast_jobs SET state = ${processing}, attempt = attempt + 1, line = NULL, worker = ?, label = ?, started_at = ?,
  lease_until = ?`
const complete = `UPDATE OR FAIL holdfast_jobs SET state = ${completed}, lease_until = NULL, finished_at = ?, by_holder = 1, result = ?,
  expires_at = ?, sweep_at = ?`
const release = `UPDATE OR FAIL holdfast_jobs SET state = ${queued}, line = 1, worker = NULL, label = NULL, started_at = NULL,
  lease_until = NULL, more = ?`
/** The same for jobs of an open claim, whose rows do not have the lease. */
const completeOpen = `UPDATE OR FAIL holdfast_jobs SET state = ${completed}, attempt = attempt + 1, line = NULL, worker = ?, label = ?, started_at = ?,
  finished_at = ?, by_holder = 1, result = ?, expires_at = ?, sweep_at = ?`
const releaseOpen = 'UPDATE OR FAIL holdfast_jobs SET attempt = attempt + 1, more = ?'
const inRange = 'WHERE seq BETWEEN ? AND ?'
const inList = 'WHERE seq IN (SELECT value FROM json_each(?))'

interface Text {
  readonly sql: string
  /** Its rows are arrays. */
  readonly hasRows: boolean
}

const rows = (sql: string): Text => ({ sql, hasRows: true })
const write = (sql: string): Text => ({ sql, hasRows: false })

const texts = {
  typeByName: rows(`SELECT ${typeColumns} FROM holdfast_types WHERE name = ?`),
  typeById: rows(`SELECT ${typeColumns} FROM holdfast_types WHERE tid = ?`),
  addType: write('INSERT INTO holdfast_types (name) VALUES (?)'),
  pauseType: write('UPDATE holdfast_types SET paused_since = ?, paused_by = ? WHERE tid = ?'),
  setFlow: write('UPDATE holdfast_types SET has_groups = ?, flow = ? WHERE tid = ?'),
  countType: write(
    `UPDATE holdfast_types SET ${stateNames.map((state) => `${state} = ${state} + ?`).join(', ')} WHERE tid = ?`,
  ),
  jobById: rows(`SELECT ${jobColumns} FROM holdfast_jobs WHERE tid = ? AND id = ?`),
  jobsById: rows(`SELECT ${jobColumns} FROM holdfast_jobs WHERE tid = ? AND id IN (SELECT value FROM json_each(?))`),
  lastId: rows('SELECT id FROM holdfast_jobs WHERE tid = ? ORDER BY id DESC LIMIT 1'),
  jobBySeq: rows(`SELECT ${jobColumns} FROM holdfast_jobs WHERE seq = ?`),
  jobsOfChain: rows(`SELECT ${jobColumns} FROM holdfast_jobs WHERE chain = ? ORDER BY seq`),
  addJob: write(
    'INSERT INTO holdfast_jobs (seq, tid, id, token, max_attempts, priority, keep_ms, created_at, payload, grp, chain, ' +
      `${changing}) VALUES (${Array.from({ length: 28 }, () => '?').join(', ')})`,
  ),
  // For a new job that is ready and has nothing rare: nearly every job.
  addPlainJob: write(`INSERT ${plainJobs(1)}`),
  addJobIfNew: write(`INSERT OR IGNORE ${plainJobs(1)}`),
  addFourIfNew: write(`INSERT OR IGNORE ${plainJobs(4)}`),
  addSixteenIfNew: write(`INSERT OR IGNORE ${plainJobs(16)}`),
  eraseJobs: write(`DELETE FROM holdfast_jobs WHERE seq BETWEEN ? AND ?`),
  changeJob: write(`UPDATE holdfast_jobs SET ${assigned(changing)} WHERE seq = ?`),
  // For nearly every job that ends: what its claim wrote stays.
  endJob: write(`UPDATE holdfast_jobs SET ${assigned(ending)} WHERE seq = ?`),
  leaseRange: write(`${lease} ${inRange}`),
  leaseList: write(`${lease} ${inList}`),
  releaseRange: write(`${release} ${inRange}`),
  releaseList: write(`${release} ${inList}`),
  completeRange: write(`${complete} ${inRange}`),
  completeList: write(`${complete} ${inList}`),
  completeOpenRange: write(`${completeOpen} ${inRange}`),
  completeOpenList: write(`${completeOpen} ${inList}`),
  releaseOpenRange: write(`${releaseOpen} ${inRange}`),
  releaseOpenList: write(`${releaseOpen} ${inList}`),
  openClaims: rows(
    `SELECT cid, tid, priority, run_at, ord, worker, label, started_at, lease_until, seqs FROM holdfast_claims
     WHERE cid > 0 ORDER BY cid`,
  ),
  setOpenClaim: write('INSERT OR REPLACE INTO holdfast_claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
  eraseOpenClaim: write('DELETE FROM holdfast_claims WHERE cid = ?'),
  eraseOpenClaims: write('DELETE FROM holdfast_claims WHERE cid > 0'),
  changePayload: write('UPDATE holdfast_jobs SET payload = ? WHERE seq = ?'),
  eraseJob: write('DELETE FROM holdfast_jobs WHERE seq = ?'),
  payload: rows('SELECT payload FROM holdfast_payloads WHERE seq = ?'),
  setPayload: write('INSERT OR REPLACE INTO holdfast_payloads VALUES (?, ?)'),
  erasePayload: write('DELETE FROM holdfast_payloads WHERE seq = ?'),
  addPlace: write('INSERT INTO holdfast_places VALUES (?, ?, ?, ?)'),
  erasePlace: write('DELETE FROM holdfast_places WHERE tid = ? AND state = ? AND at = ? AND seq = ?'),
  addDeadline: write('INSERT INTO holdfast_deadlines VALUES (?, ?)'),
  eraseDeadline: write('DELETE FROM holdfast_deadlines WHERE at = ? AND seq = ?'),
  overdue: rows('SELECT at, seq FROM holdfast_deadlines WHERE at <= ? ORDER BY at LIMIT ? + 0'),
  addField: write('INSERT INTO holdfast_search VALUES (?, ?, ?, ?)'),
  eraseField: write('DELETE FROM holdfast_search WHERE tid = ? AND field = ? AND value = ? AND seq = ?'),
  anyReport: rows(
    `SELECT 1 WHERE EXISTS (SELECT 1 FROM holdfast_progress WHERE seq > 0)
       OR EXISTS (SELECT 1 FROM holdfast_lines WHERE seq > 0)`,
  ),
  progress: rows('SELECT progress FROM holdfast_progress WHERE seq = ?'),
  setProgress: write('INSERT OR REPLACE INTO holdfast_progress VALUES (?, ?)'),
  eraseProgress: write('DELETE FROM holdfast_progress WHERE seq = ?'),
  lines: rows('SELECT number, attempt, at, line FROM holdfast_lines WHERE seq = ? ORDER BY number'),
  newestLine: rows(
    'SELECT number, start + length(line), attempt, at FROM holdfast_lines WHERE seq = ? ORDER BY number DESC LIMIT 1',
  ),
  addLine: write('INSERT INTO holdfast_lines VALUES (?, ?, ?, ?, ?, ?)'),
  firstLineFrom: rows(
    'SELECT number FROM holdfast_lines WHERE seq = ? AND number >= ? AND start >= ? ORDER BY number LIMIT 1',
  ),
  eraseLinesBefore: write('DELETE FROM holdfast_lines WHERE seq = ? AND number < ?'),
  eraseLines: write('DELETE FROM holdfast_lines WHERE seq = ?'),
  readyJobs: rows(
    `SELECT ${jobColumns} FROM holdfast_jobs
     WHERE tid = ? AND line = 1 AND priority = ? AND run_at <= ? ORDER BY run_at, ord LIMIT ? + 0`,
  ),
  // For one slot, instead of the two around it.
  firstReady: rows(
    `SELECT ${jobColumns} FROM holdfast_jobs WHERE tid = ? AND line = 1 ORDER BY priority DESC, run_at, ord LIMIT 1`,
  ),
  // The same two with the columns of a fast claim.
  dueJobs: rows(
    `SELECT ${claimedColumns} FROM holdfast_jobs
     WHERE tid = ? AND line = 1 AND priority = ? AND run_at <= ? ORDER BY run_at, ord LIMIT ? + 0`,
  ),
  firstDueJob: rows(
    `SELECT ${claimedColumns} FROM holdfast_jobs WHERE tid = ? AND line = 1 ORDER BY priority DESC, run_at, ord LIMIT 1`,
  ),
  // Behind the jobs of open claims, and the number up to there.
  dueJobsAfter: rows(
    `SELECT ${claimedColumns} FROM holdfast_jobs
     WHERE tid = ? AND line = 1 AND priority = ? AND (run_at, ord) > (?, ?) AND run_at <= ? ORDER BY run_at, ord LIMIT ? + 0`,
  ),
  countReadyUpTo: rows(
    'SELECT count(*) FROM holdfast_jobs WHERE tid = ? AND line = 1 AND priority = ? AND (run_at, ord) <= (?, ?)',
  ),
  highestBelow: rows(
    'SELECT priority FROM holdfast_jobs WHERE tid = ? AND line = 1 AND priority < ? ORDER BY priority DESC LIMIT 1',
  ),
  lost: rows(
    `SELECT ${jobColumns} FROM holdfast_jobs WHERE tid = ? AND lease_until <= ? ORDER BY lease_until LIMIT ? + 0`,
  ),
  firstLeaseEnd: rows(
    'SELECT lease_until FROM holdfast_jobs WHERE tid = ? AND lease_until IS NOT NULL ORDER BY lease_until LIMIT 1',
  ),
  held: rows(`SELECT ${jobColumns} FROM holdfast_jobs WHERE tid = ? AND lease_until IS NOT NULL ORDER BY lease_until`),
  typesWithEnded: rows('SELECT tid FROM holdfast_types WHERE completed > 0 OR failed > 0 OR cancelled > 0'),
  expired: rows(
    `SELECT ${jobColumns} FROM holdfast_jobs WHERE tid = ? AND state IN (${ended}) AND sweep_at <= ? LIMIT ? + 0`,
  ),
  group: rows(`SELECT ${groupColumns} FROM holdfast_groups WHERE tid = ? AND key = ?`),
  // Cheaper than to replace the row, which deletes it first. So does an UPDATE that sets a column of the primary key.
  setGroup: write(
    `UPDATE holdfast_groups SET ${assigned(`${groupColumns.replace('key, ', '')}, until`)} WHERE tid = ? AND key = ?`,
  ),
  addGroup: write(
    `INSERT OR REPLACE INTO holdfast_groups (tid, ${groupColumns}, until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  eraseGroup: write('DELETE FROM holdfast_groups WHERE tid = ? AND key = ?'),
  ring: rows(
    `SELECT ${groupColumns} FROM holdfast_groups WHERE tid = ? AND turn_at <= ? ORDER BY turn_at, turn LIMIT ? + 0`,
  ),
  firstTurn: rows('SELECT turn_at FROM holdfast_groups WHERE tid = ? AND turn_at IS NOT NULL ORDER BY turn_at LIMIT 1'),
  anyGroup: rows('SELECT 1 FROM holdfast_groups WHERE tid = ? LIMIT 1'),
  sweepGroups: write(
    `DELETE FROM holdfast_groups WHERE (tid, key) IN (
       SELECT tid, key FROM holdfast_groups WHERE until IS NOT NULL AND until <= ? ORDER BY until LIMIT ? + 0)`,
  ),
  overdueGroup: rows('SELECT 1 FROM holdfast_groups WHERE until IS NOT NULL AND until <= ? LIMIT 1'),
  typesWithFlow: rows('SELECT tid FROM holdfast_types WHERE has_groups = 1 OR flow IS NOT NULL'),
  addMember: write('INSERT INTO holdfast_members VALUES (?, ?, ?, ?, ?, ?)'),
  eraseMember: write('DELETE FROM holdfast_members WHERE tid = ? AND key = ? AND rank = ? AND at = ? AND ord = ?'),
  // The rows of unordered jobs that have left the group may not be deleted yet: they have another `at`.
  headOfGroup: rows(
    'SELECT seq FROM holdfast_members WHERE tid = ? AND key = ? AND rank = 0 AND at = 0 ORDER BY ord LIMIT 1',
  ),
  firstOfRank: rows(
    `SELECT rank, at FROM holdfast_members
     WHERE tid = ? AND key = ? AND rank > ? ORDER BY rank, at LIMIT 1`,
  ),
  firstMembers: rows(
    'SELECT seq, at, rank FROM holdfast_members WHERE tid = ? AND key = ? ORDER BY rank, at, ord LIMIT ? + 0',
  ),
  dueMembers: rows(
    `SELECT seq, at, rank FROM holdfast_members
     WHERE tid = ? AND key = ? AND rank = ? AND at <= ? ORDER BY at, ord LIMIT ? + 0`,
  ),
  key: rows('SELECT id, token, mode, shared, until, replaced_by, version FROM holdfast_keys WHERE tid = ? AND key = ?'),
  setKey: write('INSERT OR REPLACE INTO holdfast_keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)'),
  eraseKey: write('DELETE FROM holdfast_keys WHERE tid = ? AND key = ?'),
  dependents: rows('SELECT seq FROM holdfast_dependents WHERE tid = ? AND id = ? ORDER BY seq'),
  addDependent: write('INSERT OR IGNORE INTO holdfast_dependents VALUES (?, ?, ?)'),
  eraseDependent: write('DELETE FROM holdfast_dependents WHERE tid = ? AND id = ? AND seq = ?'),
  eraseDependents: write('DELETE FROM holdfast_dependents WHERE tid = ? AND id = ?'),
  lastNumber: rows("SELECT value FROM holdfast_numbers WHERE name = 'last'"),
  setLastNumber: write("UPDATE holdfast_numbers SET value = ? WHERE name = 'last'"),
  version: rows('PRAGMA data_version'),
  announce: write("UPDATE holdfast_numbers SET value = value + 1 WHERE name = 'listeners'"),
  sweepKeys: write(
    `DELETE FROM holdfast_keys WHERE (tid, key) IN (
       SELECT tid, key FROM holdfast_keys
       WHERE mode <> 'simple' AND until IS NOT NULL AND until <= ? ORDER BY until LIMIT ? + 0)`,
  ),
  overdueKey: rows(`SELECT 1 FROM holdfast_keys WHERE mode <> 'simple' AND until IS NOT NULL AND until <= ? LIMIT 1`),
  firstOfPriority: rows(
    `SELECT priority, run_at FROM holdfast_jobs
     WHERE tid = ? AND line = ? AND priority < ? ORDER BY priority DESC, run_at, ord LIMIT 1`,
  ),
  // Without the jobs of open claims.
  firstOthers: rows(
    `SELECT run_at FROM holdfast_jobs
     WHERE tid = ? AND line = 1 AND priority = ? AND seq NOT IN (SELECT value FROM json_each(?)) ORDER BY run_at, ord LIMIT 1`,
  ),
  firstLease: rows(
    `SELECT lease_until FROM holdfast_jobs AS job WHERE tid = ? AND lease_until IS NOT NULL AND NOT EXISTS (
       SELECT 1 FROM holdfast_groups AS grp
       WHERE grp.tid = job.tid AND grp.key = job.grp AND paused_since IS NOT NULL)
     ORDER BY lease_until LIMIT 1`,
  ),
  typeNames: rows('SELECT name FROM holdfast_types ORDER BY name'),
  countAll: rows(`SELECT sum(${stateNames.join(' + ')}) FROM holdfast_types`),
  countsOfType: rows(`SELECT ${stateNames.join(', ')} FROM holdfast_types WHERE tid = ?`),
  dueLater: rows(
    `SELECT count(*) FILTER (WHERE state = ${stateCodes.scheduled}), count(*) FILTER (WHERE state = ${stateCodes.failing}) FROM holdfast_jobs
     WHERE tid = ? AND run_at <= ? AND state IN (${stateCodes.scheduled}, ${stateCodes.failing})`,
  ),
  countLost: rows('SELECT count(*) FROM holdfast_jobs WHERE tid = ? AND lease_until <= ?'),
  countExpired: rows(
    `SELECT tid, state, count(*) FROM (
       SELECT first.tid, first.state FROM ${expiredRecords}
       UNION ALL
       SELECT job.tid, job.state FROM ${expiredRecords} CROSS JOIN holdfast_jobs AS job
         ON job.chain = first.seq AND (job.sweep_at IS NULL OR job.sweep_at > ?))
     GROUP BY tid, state`,
  ),
  pausedGroups: rows(
    `SELECT key, paused_since, paused_by FROM holdfast_groups
     WHERE tid = ? AND paused_since IS NOT NULL ORDER BY key`,
  ),
  listUp: rows(list('>', 'ASC')),
  listDown: rows(list('<', 'DESC')),
  edgeUp: rows(edge('>', 'ASC', 'min')),
  edgeDown: rows(edge('<', 'DESC', 'max')),
  candidatesUp: rows(list('>', 'ASC', candidates)),
  candidatesDown: rows(list('<', 'DESC', candidates)),
  typesUp: rows('SELECT tid FROM holdfast_types WHERE tid >= ? ORDER BY tid'),
  typesDown: rows('SELECT tid FROM holdfast_types WHERE tid <= ? ORDER BY tid DESC'),
  readyUp: rows(up(places.ready)),
  readyDown: rows(down(places.ready)),
  leasesUp: rows(up(places.leases)),
  leasesDown: rows(down(places.leases)),
  endedUp: rows(up(places.ended)),
  endedDown: rows(down(places.ended)),
  placesUp: rows(up(places.places)),
  placesDown: rows(down(places.places)),
  searchUp: rows(up(places.search)),
  searchDown: rows(down(places.search)),
  countFields: rows(
    `SELECT count(*) FROM (
       SELECT 1 FROM holdfast_search WHERE tid = ? AND field = ? AND value BETWEEN ? AND ? LIMIT ? + 0)`,
  ),
} as const satisfies Record<string, Text>

export type Statements = Readonly<Record<keyof typeof texts, StatementSync>>

export function statementsOf(db: DatabaseSync): Statements {
  const statements = {}
  for (const [name, text] of Object.entries<Text>(texts)) {
    const get = (): StatementSync => {
      const value = prepare(db, text)
      Object.defineProperty(statements, name, { value })
      return value
    }
    Object.defineProperty(statements, name, { configurable: true, enumerable: true, get })
  }
  return statements as Statements
}

function prepare(db: DatabaseSync, { sql, hasRows }: Text): StatementSync {
  const statement = db.prepare(sql) as StatementSync & { setReturnArrays(on: boolean): void }
  if (hasRows) statement.setReturnArrays(true)
  return statement
}
