// Statements on jobs: lists of them, and what is written.

import { stateCodes } from '../../rules/job/codes.ts'
import { changingColumns, type JobColumn, jobCells, jobColumnNames, jobColumns, readyCodes } from './job-columns.ts'
import { columns, fewRows, opaqueParam, param, type Sql } from './statement.ts'

/** A parameter per column, each an array. @param from number of the first */
const arrays = (from: number, names: readonly JobColumn[]): string =>
  names.map((name, index) => param(from + index, `${jobColumns[name]}[]`)).join(', ')

const hintChannel = param(5 + changingColumns.length, 'text')
const hint = param(6 + changingColumns.length, 'text')

export const jobStatements = ({ at, statement, nextValue }: Sql) => ({
  /** The first due jobs that no other transaction has locked. $1: types; $2: limit of each; $3: now. */
  due: statement(
    'due',
    `SELECT ${columns(...jobCells('j'))}
       FROM unnest(${param(1, 'integer[]')}, ${param(2, 'integer[]')}) AS w (tid, most)
       CROSS JOIN LATERAL (SELECT priorities FROM ${at}types AS t WHERE t.tid = w.tid) AS t
       CROSS JOIN LATERAL (
         SELECT j.* FROM (SELECT p FROM unnest(t.priorities) AS p ORDER BY p DESC) AS p CROSS JOIN LATERAL (
           SELECT * FROM ${at}jobs AS j
           WHERE j.tid = w.tid AND j.ready = ${readyCodes.ready} AND j.priority = p.p AND j.run_at <= ${param(3, 'double precision')}
           ORDER BY j.run_at, j.ord LIMIT w.most FOR UPDATE SKIP LOCKED) AS j
         LIMIT w.most) AS j`,
  ),
  /** Expired leases. Every claim looks for them, so the index bounds what is read. */
  lost: statement(
    'lost',
    `SELECT ${columns(...jobCells('j'))}
       FROM unnest(${param(1, 'integer[]')}, ${param(2, 'integer[]')}) AS w (tid, most)
       CROSS JOIN LATERAL (
         SELECT * FROM ${at}jobs AS j
         WHERE j.tid = w.tid AND j.state = ${stateCodes.processing} AND j.lease_until <= ${param(3, 'double precision')}
         ORDER BY j.lease_until LIMIT w.most FOR UPDATE SKIP LOCKED) AS j`,
  ),
  /** Expired leases, and attempts that started before $4, whatever their lease. Reads all leases of the types. */
  lostOrOld: statement(
    'lost_or_old',
    `SELECT ${columns(...jobCells('j'))}
       FROM unnest(${param(1, 'integer[]')}, ${param(2, 'integer[]')}) AS w (tid, most)
       CROSS JOIN LATERAL (
         SELECT * FROM ${at}jobs AS j
         WHERE j.tid = w.tid AND j.state = ${stateCodes.processing} AND (
           j.lease_until <= ${param(3, 'double precision')} OR j.started_at < ${param(4, 'double precision')})
         ORDER BY j.lease_until LIMIT w.most FOR UPDATE SKIP LOCKED) AS j`,
  ),
  expired: statement(
    'expired',
    `SELECT ${columns(...jobCells('j'))} FROM ${at}jobs AS j
       WHERE sweep_at <= ${param(1, 'double precision')}
       ORDER BY sweep_at LIMIT ${param(2, 'bigint')} FOR UPDATE SKIP LOCKED`,
  ),
  /** Seqs of the jobs of a chain but its first. */
  chains: statement(
    'chains',
    `SELECT ${columns('w.chain', 'm.seq')} FROM unnest(${param(1, 'bigint[]')}) AS w (chain)
       CROSS JOIN LATERAL (SELECT seq FROM ${at}jobs AS m WHERE m.chain = w.chain ORDER BY seq OFFSET 0) AS m`,
  ),
  numbers: statement(
    'numbers',
    `SELECT ${columns(nextValue('numbers'))} FROM generate_series(1, ${opaqueParam(1, 'integer')})`,
  ),
  eraseJobs: statement(
    'erase_jobs',
    `DELETE FROM ${at}jobs AS j
       USING (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ${fewRows}) AS w (tid, id)
       WHERE j.tid = w.tid AND j.id = w.id`,
  ),
  addJobs: statement(
    'add_jobs',
    `INSERT INTO ${at}jobs (${jobColumnNames.join(', ')}) SELECT * FROM unnest(${arrays(1, jobColumnNames)})
       ON CONFLICT DO NOTHING RETURNING 1::text AS c0`,
  ),
  /** With the call's hint, if there is one: it saves a round trip. */
  changeJobs: statement(
    'change_jobs',
    `WITH changed AS (
         UPDATE ${at}jobs AS j
         SET payload = CASE WHEN w.has_payload THEN w.payload ELSE j.payload END,
           ${changingColumns.map((name) => `${name} = w.${name}`).join(', ')}
         FROM (
           SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'boolean[]')},
             ${param(4, 'bytea[]')}, ${arrays(5, changingColumns)}) ${fewRows}
         ) AS w (tid, id, has_payload, payload, ${changingColumns.join(', ')})
         WHERE j.tid = w.tid AND j.id = w.id)
       SELECT ${columns(`CASE WHEN ${hint} IS NOT NULL THEN pg_notify(${hintChannel}, ${hint}) END`)}`,
  ),
})
