// The condition that a job has all search fields of a `where` but the first, whose index is scanned.

import type { FieldCondition } from './search-value.ts'
import { listParam } from './statement.ts'
import { arrayOf, encodeBytes, encodeText } from './text.ts'

/** @param seq of the job @param first number of the first of four parameters */
export const hasOtherFields = (at: string, seq: string, first: number): string => `NOT EXISTS (
       SELECT 1 FROM unnest(${listParam(first, 'text[]')}) AS f (name) WHERE NOT EXISTS (
         SELECT 1 FROM ${at}search AS o
         JOIN unnest(${listParam(first + 1, 'text[]')}, ${listParam(first + 2, 'bytea[]')}, ${listParam(first + 3, 'bytea[]')})
           AS c (name, start, stop) ON c.name = o.name AND o.value >= c.start AND o.value < c.stop
         WHERE o.seq = ${seq} AND o.name = f.name))`

/** The four parameters: the names; then name, beginning and end of every interval. */
export function otherFieldParams(conditions: readonly FieldCondition[]): string[] {
  const intervals = conditions.flatMap(({ name, intervals: all }) => all.map((interval) => ({ name, ...interval })))
  return [
    arrayOf(conditions.map(({ name }) => encodeText(name))),
    arrayOf(intervals.map(({ name }) => encodeText(name))),
    arrayOf(intervals.map(({ from }) => encodeBytes(from))),
    arrayOf(intervals.map(({ to }) => encodeBytes(to))),
  ]
}
