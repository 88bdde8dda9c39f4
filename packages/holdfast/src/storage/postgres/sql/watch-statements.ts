// Statements on watches: which types have listeners for events in some process. While there are none the table is empty, and a
// statement that looks into it costs nothing to speak of. Watches are timed by the server's own clock.

import { ruledRows } from './flow-statements.ts'
import { columns, param, serverTime, type Sql } from './statement.ts'

const watchedRows = (at: string): string => `SELECT x.tid FROM ${at}watches AS x WHERE x.until > ${serverTime}`

/** A condition: one of these types is watched. @param tids a subquery */
export const isWatched = (at: string, tids: string): string =>
  `EXISTS (SELECT 1 FROM ${at}watches AS x WHERE x.until > ${serverTime} AND x.tid IN (${tids}))`

/** The same without a join: it costs less while no type is watched. @param tids an array */
export const isOneWatched = (at: string, tids: string): string =>
  `EXISTS (SELECT 1 FROM ${at}watches AS x WHERE x.until > ${serverTime} AND x.tid = ANY (${tids}))`

/** A condition: one of these types is watched or ruled. Together, so that the list of types is read once. @param tids a subquery */
export const isWatchedOrRuled = (at: string, tids: string): string =>
  `EXISTS (SELECT 1 FROM (${watchedRows(at)} UNION ALL ${ruledRows(at)}) AS x WHERE x.tid IN (${tids}))`

/** The numbers of all watched types, as an array; NULL: none. */
export const watchedTypes = (at: string): string =>
  `(SELECT array_agg(DISTINCT x.tid) FROM ${at}watches AS x WHERE x.until > ${serverTime})`

export const watchStatements = ({ at, statement }: Sql) => ({
  /** $1: types; $2: instance; $3: ms. Also deletes the watches of processes that are gone. */
  watch: statement(
    'watch',
    `WITH over AS (DELETE FROM ${at}watches WHERE until <= ${serverTime} AND instance <> ${param(2, 'text')})
     INSERT INTO ${at}watches (tid, instance, until)
     SELECT tid, ${param(2, 'text')}, ${serverTime} + ${param(3, 'double precision')} FROM unnest(${param(1, 'integer[]')}) AS g (tid)
     ON CONFLICT (tid, instance) DO UPDATE SET until = EXCLUDED.until`,
  ),
  /** $1: types; $2: instance. */
  unwatch: statement(
    'unwatch',
    `DELETE FROM ${at}watches WHERE instance = ${param(2, 'text')} AND tid = ANY (${param(1, 'integer[]')})`,
  ),
  /** $1: channel; $2: messages, in order. */
  publish: statement(
    'publish',
    `SELECT ${columns(`pg_notify(${param(1, 'text')}, m.text)`)}
     FROM unnest(${param(2, 'text[]')}) WITH ORDINALITY AS m (text, n) ORDER BY m.n`,
  ),
})
