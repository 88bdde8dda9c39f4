// Builds statements by the rules of connection/database.ts: parameters cast to text first, columns selected as text.

import { createHash } from 'node:crypto'
import type { Statement } from '../connection/database.ts'
import { identifier } from './text.ts'

/** The server's time, in whole milliseconds. */
export const serverTime = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::double precision'

/** A parameter; a list is opaque to the planner. Clients may format a value by the first type it is cast to: so that is text. */
export const param = (number: number, type: string): string =>
  type.endsWith('[]') ? opaqueParam(number, type) : `($${number}::text)::${type}`

/**
 * A parameter whose value the planner does not see. If it does, a plan for this value seems cheaper than a generic one, and
 * the server plans again with every call, which takes longer than the call. A plan for a long list is even JIT-compiled, which
 * takes a second.
 */
export const opaqueParam = (number: number, type: string): string => `(SELECT $${number}::text)::${type}`

/**
 * A list for unnest(), as opaque as the above, but without a subquery: each costs a plan node whenever the statement runs. The planner
 * does not evaluate the time, which changes within a statement, and so not the whole. Not for a condition on rows, where it would be
 * evaluated with each, and would rule out an index.
 */
export const unnestParam = (number: number, type: string): string =>
  `(CASE WHEN clock_timestamp() IS NOT NULL THEN $${number}::text END)::${type}`

/**
 * A list for a condition on many rows: it is parsed once per statement. The cast of another list is repeated with every row, which
 * takes longer than the rest of a row.
 */
export const listParam = (number: number, type: string): string => `(SELECT ($${number}::text)::${type})::${type}`

/** The bytes of a row with `start` and `size`: text.ts#joinedBytes. They are decoded once. @param number of the hex digits of all */
export const bytesAt = (row: string, number: number): string =>
  `substring((SELECT decode($${number}::text, 'hex')) FROM ${row}.start FOR ${row}.size)`

/** A list that, when it is read, sets the lock timeout of the transaction. @param number NULL: leave it as it is */
export const settingLockTimeout = (number: number, list: string): string =>
  `(CASE WHEN set_config('lock_timeout', coalesce($${number}::text, current_setting('lock_timeout')), true) IS NOT NULL
    THEN ${list} END)`

/** Selected columns, as text, under the names c0, c1, … */
export const columns = (...expressions: readonly string[]): string =>
  expressions.map((expression, index) => `(${expression})::text AS c${index}`).join(', ')

/**
 * Follows a list that rows are joined with. A plan may be made while a table is empty, and kept: then a sequential scan seems cheap.
 * A limit that the planner cannot know makes it expect few rows from the list, so that it uses the index for each.
 */
export const fewRows = 'LIMIT (SELECT 1000000)'

/** The largest LIMIT of a statement: it takes an integer, and a request may ask for all. */
export const maxLimit = 2 ** 30

export interface Sql {
  /** The quoted schema with its dot: `"holdfast".` */
  readonly at: string
  /** An expression of the storage's current time, in epoch ms. */
  readonly now: string
  /** Makes a statement whose name is unique for this schema. */
  statement(name: string, text: string): Statement
  /** An expression that takes the next value of a sequence of the schema. */
  nextValue(sequence: 'numbers' | 'kv_numbers'): string
}

/** @param now an expression of the time, with `$.` for the schema */
export function makeSql(schema: string, now: string = serverTime): Sql {
  const at = `${identifier(schema)}.`
  const hash = createHash('sha256').update(`${schema}\n${now}`).digest('hex').slice(0, 12)
  return {
    at,
    now: now.replaceAll('$.', at),
    statement: (name, text) => ({ name: `holdfast_${hash}_${name}`, text }),
    nextValue: (sequence) => `nextval('${at.replaceAll("'", "''")}${sequence}')`,
  }
}
