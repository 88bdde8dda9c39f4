// Statements on the turns and limits of types (storage/rules/flow.ts), in their rows of the table of types. Its row lock is what
// claims of a type with limits or groups wait for each other by.

import { createHash } from 'node:crypto'
import { stateCodes } from '../../rules/job/codes.ts'
import { isSeldom, readyCodes } from './job-columns.ts'
import { alongIndex, isInRing } from './scan.ts'
import { columns, fewRows, param, type Sql } from './statement.ts'

/** The numbers of ruled types. The index over them is empty while no type is ruled, so it costs next to nothing. */
export const ruledRows = (at: string): string => `SELECT y.tid FROM ${at}types AS y WHERE y.ruled`

/** The same as an array; NULL: none. */
export const ruledTypes = (at: string): string => `(SELECT array_agg(y.tid) FROM (${ruledRows(at)}) AS y)`

/** A condition: a group of this type has its turn. @param now an expression */
export const hasTurn = (at: string, tid: string, now: string): string =>
  `EXISTS (SELECT 1 FROM ${at}groups AS g WHERE g.tid = ${tid} AND ${isInRing} AND g.turn_at <= ${now})`

const countOf = (at: string, condition: string): string =>
  `(SELECT count(*) FROM ${at}jobs AS j WHERE j.tid = w.tid AND ${condition})`

const isRunning = alongIndex(`j.state = ${stateCodes.processing}`, 'j')

/** Number of jobs of a type `w` in processing, but at most this. */
export const runningUpTo = (at: string, most: string): string =>
  `(SELECT count(*) FROM (SELECT 1 FROM ${at}jobs AS j WHERE j.tid = w.tid AND ${isRunning} LIMIT ${most}) AS r)`

/** Number of jobs of a type `w` in processing. */
export const runningOf = (at: string): string => countOf(at, isRunning)

/** Of the line, of groups, and blocked ones. */
const waitingCount = (at: string): string =>
  `${countOf(at, alongIndex(`j.ready = ${readyCodes.ready}`, 'j'))}
   + (SELECT coalesce(sum(g.size - g.running), 0) FROM ${at}groups AS g WHERE g.tid = w.tid)
   + ${countOf(at, `j.state = ${stateCodes.blocked} AND j.grp IS NULL AND ${alongIndex(isSeldom('j'), 'j')}`)}`

const types = `(SELECT * FROM unnest(${param(1, 'integer[]')}) ${fewRows}) AS w (tid)`

/** Of the type whose number comes second. */
const depthLock = (at: string): number => createHash('sha256').update(`holdfast depth ${at}`).digest().readInt32BE()

export function flowStatements({ at, now, statement }: Sql) {
  const cells = ['t.tid', 't.paused_since', 't.paused_by', 't.flow', 't.ruled', 't.grouped']
  return {
    /** With whether a group has its turn. $2: now. */
    openTypes: statement(
      'open_types',
      `SELECT ${columns(...cells, hasTurn(at, 't.tid', param(2, 'double precision')))}
         FROM ${types} CROSS JOIN LATERAL (SELECT * FROM ${at}types AS t WHERE t.tid = w.tid LIMIT 1) AS t`,
    ),
    readFlows: statement(
      'read_flows',
      `SELECT ${columns(...cells)} FROM ${types} CROSS JOIN LATERAL (SELECT * FROM ${at}types AS t WHERE t.tid = w.tid LIMIT 1) AS t`,
    ),
    /** In the order of types, so that two calls wait for each other without a deadlock. */
    lockFlows: statement(
      'lock_flows',
      `SELECT ${columns(...cells)} FROM (SELECT * FROM unnest(${param(1, 'integer[]')}) ORDER BY 1) AS w (tid)
       CROSS JOIN LATERAL (SELECT * FROM ${at}types AS t WHERE t.tid = w.tid FOR UPDATE) AS t`,
    ),
    /** Jobs in processing, by type, with the time. To be read after the lock: a statement sees a snapshot that is older than its locks. */
    running: statement(
      'running',
      `SELECT ${columns('n.now', 'w.tid', runningOf(at))} FROM (SELECT ${now} AS now) AS n LEFT JOIN ${types} ON true`,
    ),
    changeFlows: statement(
      'change_flows',
      `UPDATE ${at}types AS t SET flow = w.flow, ruled = w.ruled
         FROM (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'boolean[]')}) ${fewRows})
           AS w (tid, flow, ruled)
         WHERE t.tid = w.tid`,
    ),
    /** Adds with a largest depth wait for each other, but claims need not wait for them: so it is another lock. */
    lockDepths: statement(
      'lock_depths',
      `SELECT ${columns(`pg_advisory_xact_lock(${depthLock(at)}, w.tid)`)}
         FROM (SELECT * FROM unnest(${param(1, 'integer[]')}) ORDER BY 1) AS w (tid)`,
    ),
    /** Waiting jobs and jobs in processing, by type. */
    depths: statement('depths', `SELECT ${columns('w.tid', waitingCount(at), runningOf(at))} FROM ${types}`),
    /** The last number that a call has taken, committed or not. */
    lastNumber: statement('last_number', `SELECT ${columns('last_value + is_called::integer')} FROM ${at}numbers`),
    /** Types whose flow may be deleted, as far as other rows say so. Not prepared: it is rare, and its plan depends on the tables. */
    idleFlows: {
      name: '',
      text: `SELECT ${columns('w.tid', 'w.flow')} FROM ${at}types AS w
         WHERE w.flow IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${at}groups AS g WHERE g.tid = w.tid)
           AND NOT EXISTS (SELECT 1 FROM ${at}jobs AS j WHERE j.tid = w.tid AND ${isRunning})
         FOR UPDATE OF w SKIP LOCKED`,
    },
  }
}
