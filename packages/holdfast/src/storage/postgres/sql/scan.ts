// The index scan over the claimable jobs of a type: each priority is scanned by itself, the highest first.

import { readyCodes } from './job-columns.ts'
import { param } from './statement.ts'

/**
 * The predicate of a partial index, in a form that leaves the planner only this index. A plan may be made, and kept, while the
 * statistics say that the table is nearly empty: then a sequential scan with a sort seems cheapest, and takes 50 to 100 ms with
 * 100,000 jobs (0.2 ms along the index). The second condition follows from the first. So a scan of the index drops it, as it is
 * proven by the predicate, and every other scan would have to pay for its list, which is never read: the first part is true.
 *
 * Rejected: planning anew with each call (0.4 ms each); settings of a transaction (a round trip more).
 * @param row alias of a row of jobs @param column an integer of the row
 */
export const alongIndex = (predicate: string, row: string, column = 'attempt'): string =>
  `${predicate} AND (${predicate} OR ${row}.${column} IN (SELECT n FROM generate_series(1, 10000) AS n))`

/** A group `g` is in the ring of its type, along the index. */
export const isInRing = alongIndex('g.turn_at IS NOT NULL', 'g', 'size')

/** A job waits in its group, along the index of such jobs. */
export const isAside = (row: string): string => alongIndex(`${row}.ready = ${readyCodes.aside}`, row)

/** The priorities of a type, the highest first. */
export const priorities = (list: string): string => `(SELECT p AS priority FROM unnest(${list}) AS p ORDER BY p DESC)`

/**
 * The same, each with the position its scan starts behind (fast/scan-cursor.ts).
 * @param first number of the first of four parameters
 */
export const prioritiesFrom = (first: number, tid: string, list: string): string => {
  const starts = `unnest(${param(first, 'integer[]')}, ${param(first + 1, 'smallint[]')},
    ${param(first + 2, 'double precision[]')}, ${param(first + 3, 'bigint[]')}) AS s (tid, priority, run_at, ord)
    WHERE s.tid = ${tid} AND s.priority = p`
  return `(SELECT p AS priority, coalesce((SELECT s.run_at FROM ${starts}), '-Infinity') AS run_at,
    coalesce((SELECT s.ord FROM ${starts}), 0) AS ord
    FROM unnest(${list}) AS p ORDER BY p DESC)`
}
