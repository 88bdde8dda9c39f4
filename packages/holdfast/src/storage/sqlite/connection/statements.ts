// Every statement on jobs, types, groups and keys, prepared once per connection. Limits are written `? + 0`: SQLite plans a
// statement again whenever a bare parameter of its limit changes, which costs more than running the statement.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { jobColumns } from '../rules/job.ts'
import { stateCodes, stateNames } from '../../rules/job/codes.ts'

const list = (beyond: '<' | '>', order: 'ASC' | 'DESC'): string =>
  `SELECT seq FROM holdfast_jobs AS job JOIN holdfast_types AS type USING (tid)
   WHERE created_at BETWEEN :low AND :high
     AND (:types IS NULL OR type.name IN (SELECT value FROM json_each(:types)))
     AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
     AND (:chains = 0 OR chain IS NULL)
     AND (:at IS NULL OR (created_at, type.name, job.id) ${beyond} (:at, :type, :id))
   ORDER BY created_at ${order}, type.name ${order}, job.id ${order}`

export type Statements = ReturnType<typeof prepare>

export function prepare(db: DatabaseSync) {
  const rows = (sql: string): StatementSync => {
    const statement = db.prepare(sql) as StatementSync & { setReturnArrays(on: boolean): void }
    statement.setReturnArrays(true)
    return statement
  }
  const changing =
    'state, attempt, failures, run_at, ord, ready, worker, label, started_at, lease_until, finished_at, by_holder, result, ' +
    'error, expires_at, sweep_at, more'
  return {
    typeByName: rows('SELECT tid, name, paused_since, paused_by FROM holdfast_types WHERE name = ?'),
    typeById: rows('SELECT tid, name, paused_since, paused_by FROM holdfast_types WHERE tid = ?'),
    addType: db.prepare('INSERT INTO holdfast_types (name) VALUES (?)'),
    pauseType: db.prepare('UPDATE holdfast_types SET paused_since = ?, paused_by = ? WHERE tid = ?'),
    countType: db.prepare(
      `UPDATE holdfast_types SET ${stateNames.map((state) => `${state} = ${state} + ?`).join(', ')} WHERE tid = ?`,
    ),
    jobById: rows(`SELECT ${jobColumns} FROM holdfast_jobs WHERE tid = ? AND id = ?`),
    jobsById: rows(`SELECT ${jobColumns} FROM holdfast_jobs WHERE tid = ? AND id IN (SELECT value FROM json_each(?))`),
    lastId: rows('SELECT id FROM holdfast_jobs WHERE tid = ? ORDER BY id DESC LIMIT 1'),
    jobBySeq: rows(`SELECT ${jobColumns} FROM holdfast_jobs WHERE seq = ?`),
    jobsOfChain: rows(`SELECT ${jobColumns} FROM holdfast_jobs WHERE chain = ? ORDER BY seq`),
    addJob: db.prepare(
      'INSERT INTO holdfast_jobs (seq, tid, id, token, max_attempts, priority, keep_ms, created_at, payload, grp, chain, ' +
        `${changing}) VALUES (${Array.from({ length: 28 }, () => '?').join(', ')})`,
    ),
    // For a new job that is ready and has nothing rare: nearly every job.
    addPlainJob: db.prepare(
      `INSERT INTO holdfast_jobs (seq, tid, id, token, max_attempts, priority, keep_ms, created_at, payload, state,
         attempt, failures, run_at, ord, ready) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, 1)`,
    ),
    changeJob: db.prepare(
      `UPDATE holdfast_jobs SET ${changing
        .split(', ')
        .map((column) => `${column} = ?`)
        .join(', ')} WHERE seq = ?`,
    ),
    changePayload: db.prepare('UPDATE holdfast_jobs SET payload = ? WHERE seq = ?'),
    eraseJob: db.prepare('DELETE FROM holdfast_jobs WHERE seq = ?'),
    payload: rows('SELECT payload FROM holdfast_payloads WHERE seq = ?'),
    setPayload: db.prepare('INSERT OR REPLACE INTO holdfast_payloads VALUES (?, ?)'),
    erasePayload: db.prepare('DELETE FROM holdfast_payloads WHERE seq = ?'),
    readyJobs: rows(
      `SELECT ${jobColumns} FROM holdfast_jobs
       WHERE tid = ? AND ready = 1 AND priority = ? AND run_at <= ? ORDER BY run_at, ord LIMIT ? + 0`,
    ),
    highestBelow: rows(
      'SELECT priority FROM holdfast_jobs WHERE tid = ? AND ready = 1 AND priority < ? ORDER BY priority DESC LIMIT 1',
    ),
    lost: rows(
      `SELECT ${jobColumns} FROM holdfast_jobs WHERE tid = ? AND lease_until <= ? ORDER BY lease_until LIMIT ? + 0`,
    ),
    held: rows(
      `SELECT ${jobColumns} FROM holdfast_jobs WHERE tid = ? AND lease_until IS NOT NULL ORDER BY lease_until`,
    ),
    expired: rows(`SELECT ${jobColumns} FROM holdfast_jobs WHERE sweep_at <= ? ORDER BY sweep_at LIMIT ? + 0`),
    group: rows('SELECT running, placed, paused_since, paused_by FROM holdfast_groups WHERE tid = ? AND key = ?'),
    setGroup: db.prepare('INSERT OR REPLACE INTO holdfast_groups VALUES (?, ?, ?, ?, ?, ?)'),
    eraseGroup: db.prepare('DELETE FROM holdfast_groups WHERE tid = ? AND key = ?'),
    headOfGroup: rows(
      `SELECT ${jobColumns} FROM holdfast_jobs
       WHERE tid = ? AND grp = ? AND grp IS NOT NULL AND state < ${stateCodes.completed} ORDER BY seq LIMIT 1`,
    ),
    key: rows('SELECT id, token, mode, shared, until FROM holdfast_keys WHERE tid = ? AND key = ?'),
    setKey: db.prepare('INSERT OR REPLACE INTO holdfast_keys VALUES (?, ?, ?, ?, ?, ?, ?)'),
    eraseKey: db.prepare('DELETE FROM holdfast_keys WHERE tid = ? AND key = ?'),
    dependents: rows('SELECT seq FROM holdfast_dependents WHERE tid = ? AND id = ? ORDER BY seq'),
    addDependent: db.prepare('INSERT OR IGNORE INTO holdfast_dependents VALUES (?, ?, ?)'),
    eraseDependent: db.prepare('DELETE FROM holdfast_dependents WHERE tid = ? AND id = ? AND seq = ?'),
    eraseDependents: db.prepare('DELETE FROM holdfast_dependents WHERE tid = ? AND id = ?'),
    lastNumber: rows("SELECT value FROM holdfast_numbers WHERE name = 'last'"),
    setLastNumber: db.prepare("UPDATE holdfast_numbers SET value = ? WHERE name = 'last'"),
    version: rows('PRAGMA data_version'),
    announce: db.prepare("UPDATE holdfast_numbers SET value = value + 1 WHERE name = 'listeners'"),
    sweepKeys: db.prepare(
      `DELETE FROM holdfast_keys WHERE (tid, key) IN (
         SELECT tid, key FROM holdfast_keys
         WHERE mode = 'throttle' AND until IS NOT NULL AND until <= ? ORDER BY until LIMIT ? + 0)`,
    ),
    overdueKey: rows(
      `SELECT 1 FROM holdfast_keys WHERE mode = 'throttle' AND until IS NOT NULL AND until <= ? LIMIT 1`,
    ),
    firstOfPriority: rows(
      `SELECT priority, run_at FROM holdfast_jobs
       WHERE tid = ? AND ready = ? AND priority < ? ORDER BY priority DESC, run_at, ord LIMIT 1`,
    ),
    firstLease: rows(
      `SELECT lease_until FROM holdfast_jobs AS job WHERE tid = ? AND lease_until IS NOT NULL AND NOT EXISTS (
         SELECT 1 FROM holdfast_groups AS grp
         WHERE grp.tid = job.tid AND grp.key = job.grp AND paused_since IS NOT NULL)
       ORDER BY lease_until LIMIT 1`,
    ),
    typeNames: rows('SELECT name FROM holdfast_types ORDER BY name'),
    countsOfType: rows(`SELECT ${stateNames.join(', ')} FROM holdfast_types WHERE tid = ?`),
    dueLater: rows(
      `SELECT count(*) FILTER (WHERE state = ${stateCodes.scheduled}), count(*) FILTER (WHERE state = ${stateCodes.failing}) FROM holdfast_jobs
       WHERE tid = ? AND run_at <= ? AND state IN (${stateCodes.scheduled}, ${stateCodes.failing})`,
    ),
    countLost: rows('SELECT count(*) FROM holdfast_jobs WHERE tid = ? AND lease_until <= ?'),
    countExpired: rows(
      `SELECT tid, state, count(*) FROM (
         SELECT tid, state FROM holdfast_jobs WHERE sweep_at <= ?
         UNION ALL
         SELECT job.tid, job.state FROM holdfast_jobs AS first JOIN holdfast_jobs AS job ON job.chain = first.seq
         WHERE first.sweep_at <= ?)
       GROUP BY tid, state`,
    ),
    pausedGroups: rows(
      `SELECT key, paused_since, paused_by FROM holdfast_groups
       WHERE tid = ? AND paused_since IS NOT NULL ORDER BY key`,
    ),
    listUp: rows(list('>', 'ASC')),
    listDown: rows(list('<', 'DESC')),
  }
}
