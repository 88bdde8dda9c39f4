// sweep, with counts to keep: which ended chains of a type and state are beyond its count. There are no stored counters, so the ended
// chains are counted: completed ones along the index by expiry, all types in one scan; the others along the index of their type
// and state.

import { stateCodes } from '../../rules/job/codes.ts'
import type { KeepCount } from '../../storage.ts'
import type { Row } from '../connection/database.ts'
import { loadChains } from '../rules/load-lists.ts'
import type { Loader } from '../rules/loader.ts'
import { cell, isCommon, isSeldom, jobCells, kindCodes, seldomAt } from '../sql/job-columns.ts'
import { columns, fewRows, param, type Sql } from '../sql/statement.ts'
import { arrayOf } from '../sql/text.ts'
import type { OpenStorage } from './open-storage.ts'

const { completed } = stateCodes

/** The other first jobs of type `k.tid` whose chain is in state `k.state`, and which no dependent needs. */
const seldom = (at: string): string => `
  SELECT j.tid, j.id, j.seq, j.sweep_at, j.finished_at FROM unnest(ARRAY[k.state, ${completed}]) WITH ORDINALITY AS s (state, n)
  CROSS JOIN LATERAL (
    SELECT * FROM ${at}jobs AS j WHERE j.tid = k.tid AND j.state = s.state AND ${isSeldom('j')}
    ORDER BY ${seldomAt('j')}, j.seq OFFSET 0) AS j
  LEFT JOIN LATERAL (
    SELECT t.state FROM ${at}jobs AS t WHERE t.seq = j.tail AND t.kind = ${kindCodes.linked} LIMIT 1) AS t ON true
  WHERE j.chain IS NULL AND j.dependents IS NULL AND coalesce(t.state, j.state) = k.state
    AND (s.n = 1 OR k.state <> ${completed})`

export const sweepCountStatements = ({ at, statement }: Sql) => ({
  /** $1: types; $2: states. Returns the number of ended chains of each. */
  endedCounts: statement(
    'ended_counts',
    `WITH common AS MATERIALIZED (
       SELECT j.tid, count(*) AS count FROM ${at}jobs AS j
       WHERE ${isCommon('j')} AND ${completed} = ANY (${param(2, 'smallint[]')}) AND j.tid = ANY (${param(1, 'integer[]')})
       GROUP BY j.tid)
     SELECT ${columns(
       `(SELECT count(*) FROM (${seldom(at)}) AS s)
        + CASE WHEN k.state = ${completed} THEN coalesce((SELECT count FROM common AS c WHERE c.tid = k.tid), 0) ELSE 0 END`,
     )}
     FROM unnest(${param(1, 'integer[]')}, ${param(2, 'smallint[]')}) WITH ORDINALITY AS k (tid, state, n) ORDER BY k.n`,
  ),
  /** The ended chains that expire first. $1: type; $2: state; $3: limit. */
  endedFirst: statement(
    'ended_first',
    `WITH first AS MATERIALIZED (
       SELECT o.* FROM (SELECT ${param(1, 'integer')} AS tid, ${param(2, 'smallint')} AS state) AS k CROSS JOIN LATERAL (
         (SELECT j.tid, j.id, j.seq, j.sweep_at, j.finished_at FROM ${at}jobs AS j
          WHERE ${isCommon('j')} AND j.tid = k.tid AND k.state = ${completed}
          ORDER BY j.sweep_at LIMIT ${param(3, 'bigint')})
         UNION ALL
         (SELECT * FROM (${seldom(at)}) AS j ORDER BY j.sweep_at, j.finished_at, j.seq LIMIT ${param(3, 'bigint')})) AS o
       ORDER BY o.sweep_at, o.finished_at, o.seq LIMIT ${param(3, 'bigint')})
     SELECT ${columns(...jobCells('j'))} FROM (SELECT * FROM first ${fewRows}) AS w CROSS JOIN LATERAL (
       SELECT * FROM ${at}jobs AS j WHERE j.tid = w.tid AND j.id = w.id AND j.seq = w.seq
         AND j.dependents IS NULL AND j.state >= ${completed} LIMIT 1 FOR UPDATE SKIP LOCKED) AS j`,
  ),
})

/** First jobs of the chains to sweep, by their seqs, and whether more are left. */
export interface Sweepable {
  readonly seqs: readonly number[]
  readonly more: boolean
}

/**
 * Loads the chains beyond the counts, with all their jobs. They are those that expire first, so the expired ones count among them.
 * @param expired those that the call deletes anyway
 */
export async function loadBeyond(
  { types, statements }: Pick<OpenStorage, 'types' | 'statements'>,
  loader: Loader,
  keep: readonly KeepCount[],
  limit: number,
  expired: ReadonlySet<number>,
): Promise<Sweepable> {
  const known = keep.flatMap(({ type, state, count }) => {
    const tid = types.tidOf(type)
    return tid === undefined ? [] : [{ tid, state: stateCodes[state], count }]
  })
  const { connection } = loader
  const counts = await connection.query(statements.endedCounts, [
    arrayOf(known.map(({ tid }) => tid)),
    arrayOf(known.map(({ state }) => state)),
  ])
  const found: Row[] = []
  let excessive = 0
  for (const [index, { tid, state, count }] of known.entries()) {
    const excess = Number(counts[index]![0]) - count
    if (excess <= 0) continue
    excessive += excess
    const most = Math.min(excess, limit - found.length)
    if (most > 0) found.push(...(await connection.query(statements.endedFirst, [tid, state, most])))
  }
  await loadChains(loader, found)
  const seqs = found.map((row) => Number(row[cell.seq]))
  return { seqs: seqs.filter((seq) => !expired.has(seq)), more: excessive > found.length }
}
