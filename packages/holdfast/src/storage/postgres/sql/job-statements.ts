// Statements on jobs: lists of them, and what is written.

import { stateCodes } from '../../rules/job/codes.ts'
import {
  changingColumns,
  firstProvisional,
  type JobColumn,
  jobCells,
  jobColumnNames,
  jobColumns,
  numberColumns,
  readyCodes,
} from './job-columns.ts'
import { bytesAt, columns, fewRows, opaqueParam, param, type Sql } from './statement.ts'

/** The same for new jobs: of the payload, its position and, in a last one, its size (text.ts#joinedBytes). */
const newJobArrays = [
  ...jobColumnNames.map((name, index) => param(1 + index, name === 'payload' ? 'integer[]' : `${jobColumns[name]}[]`)),
  param(jobColumnNames.length + 4, 'integer[]'),
].join(', ')

/** The column of a new job `w`. */
function newCell(name: JobColumn): string {
  if (name === 'payload') return bytesAt('w', jobColumnNames.length + 5)
  return numberColumns.has(name) ? finalNumber(`w.${name}`) : `w.${name}`
}

/** A parameter per column, each an array. @param from number of the first */
const arrays = (from: number, names: readonly JobColumn[]): string =>
  names.map((name, index) => param(from + index, `${jobColumns[name]}[]`)).join(', ')

/** Sends the call's hint, if there is one: it saves a round trip. @param from number of the channel's parameter; the hint is the next */
const sendHint = (from: number): string =>
  `CASE WHEN ${param(from + 1, 'text')} IS NOT NULL THEN pg_notify(${param(from, 'text')}, ${param(from + 1, 'text')}) END`

/** A number of the sequence for one that was provisional: they stand for the numbers that are taken, in order. */
const finalNumber = (cell: string): string =>
  `CASE WHEN ${cell} >= ${firstProvisional} THEN taken.numbers[${cell} - ${firstProvisional - 1}] ELSE ${cell} END`

export const jobStatements = ({ at, now, statement, nextValue }: Sql) => ({
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
  /** Expired leases. Every claim looks for them, so the index bounds what is read. $3: now, or NULL: the time of the statement. */
  lost: statement(
    'lost',
    `SELECT ${columns(...jobCells('j'))}
       FROM unnest(${param(1, 'integer[]')}, ${param(2, 'integer[]')}) AS w (tid, most)
       CROSS JOIN LATERAL (
         SELECT * FROM ${at}jobs AS j
         WHERE j.tid = w.tid AND j.state = ${stateCodes.processing}
           AND j.lease_until <= (SELECT coalesce(${param(3, 'double precision')}, ${now}))
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
  /**
   * Takes so many numbers as parameter 1 behind the columns says, and answers with them and how many jobs were inserted. Then channel
   * and hint, and the sizes and bytes of the payloads.
   */
  addJobs: statement(
    'add_jobs',
    `WITH taken AS MATERIALIZED (
         SELECT array(SELECT ${nextValue('numbers')} FROM generate_series(1, ${opaqueParam(jobColumnNames.length + 1, 'integer')})) AS numbers),
       added AS (
         INSERT INTO ${at}jobs (${jobColumnNames.join(', ')})
         SELECT ${jobColumnNames.map(newCell).join(', ')}
         FROM taken CROSS JOIN unnest(${newJobArrays})
           AS w (${jobColumnNames.map((name) => (name === 'payload' ? 'start' : name)).join(', ')}, size)
         ON CONFLICT DO NOTHING RETURNING 1)
       SELECT ${columns('taken.numbers', '(SELECT count(*) FROM added)', sendHint(jobColumnNames.length + 2))} FROM taken`,
  ),
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
       SELECT ${columns(sendHint(5 + changingColumns.length))}`,
  ),
})
