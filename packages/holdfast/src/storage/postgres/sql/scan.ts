// The index scan over the claimable jobs of a type: each priority is scanned by itself, the highest first.

import { param } from './statement.ts'

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
