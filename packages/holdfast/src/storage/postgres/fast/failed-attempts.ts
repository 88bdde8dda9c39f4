// The part of the claim statement that records failed attempts: their jobs wait for a retry, or end. A statement contains it only
// if there are failures.

import { attemptsKept, stateCodes } from '../../rules/job/codes.ts'
import { hasRetentionCode, keptAfter, readyCodes } from '../sql/job-columns.ts'
import { fewRows, param, type Sql } from '../sql/statement.ts'

const { failed, failing } = stateCodes

/** Number of its parameters. */
export const failureParams = 9

/**
 * The common table expressions `failed` (given), `judged` (which of them end) and `retried` (written).
 * @param first number of the first parameter
 * @param isHeld condition for a row `j` that an outcome `g` fits
 */
export const failedAttempts = ({ at, nextValue }: Sql, first: number, isHeld: string): string => `
     failed AS MATERIALIZED (
       SELECT * FROM unnest(${param(first + 0, 'integer[]')}, ${param(first + 1, 'text[]')}, ${param(first + 2, 'text[]')},
         ${param(first + 3, 'integer[]')}, ${param(first + 4, 'double precision[]')}, ${param(first + 5, 'double precision[]')},
         ${param(first + 6, 'double precision[]')}, ${param(first + 7, 'bytea[]')}, ${param(first + 8, 'boolean[]')})
         WITH ORDINALITY AS f (tid, id, worker, attempt, at, delay_ms, keep_ms, error, is_last, n) ${fewRows}),
     judged AS MATERIALIZED (
       SELECT j.*, (SELECT now FROM clock) + coalesce(j.own_keep_ms, ${keptAfter('failed', 'j.keep_ms')}) AS till,
         CASE WHEN j.delay_ms IS NOT NULL THEN (SELECT now FROM clock) + j.delay_ms
           ELSE greatest(j.at, (SELECT now FROM clock)) END AS due_at
       FROM (
         SELECT j.tid, j.id, g.n, g.at, g.delay_ms, g.error, g.is_last, g.keep_ms AS own_keep_ms, j.keep_ms,
           g.is_last OR j.failures + 1 >= coalesce(j.max_attempts, 'Infinity') AS ends,
           j.attempt, j.worker, j.label, j.started_at, j.attempts
         FROM failed AS g CROSS JOIN LATERAL (
           SELECT * FROM ${at}jobs AS j WHERE ${isHeld} AND ${hasRetentionCode} FOR UPDATE
         ) AS j WHERE (SELECT plain.is FROM plain)) AS j),
     retried AS (
       UPDATE ${at}jobs AS j SET failures = j.failures + 1,
         state = CASE WHEN g.ends THEN ${failed} ELSE ${failing} END,
         ready = CASE WHEN g.ends THEN NULL ELSE ${readyCodes.ready} END,
         run_at = CASE WHEN g.ends THEN j.run_at ELSE g.due_at END,
         ord = CASE WHEN g.ends THEN j.ord ELSE ${nextValue('numbers')} END,
         worker = CASE WHEN g.ends THEN j.worker END,
         label = CASE WHEN g.ends THEN j.label END,
         started_at = CASE WHEN g.ends THEN j.started_at END,
         lease_until = NULL,
         error = coalesce(g.error, j.error),
         finished_at = CASE WHEN g.ends THEN (SELECT now FROM clock) END,
         expires_at = CASE WHEN g.ends THEN nullif(g.till, 'Infinity') END,
         sweep_at = CASE WHEN g.ends THEN nullif(g.till, 'Infinity') END,
         attempts = concat_ws(E'\\n',
           array_to_string((string_to_array(g.attempts, E'\\n'))[
             greatest(1, array_length(string_to_array(g.attempts, E'\\n'), 1) - ${attemptsKept - 2}):], E'\\n'),
           json_build_array(g.attempt, g.worker, g.label, g.started_at, (SELECT now FROM clock),
             CASE WHEN g.is_last THEN 'failed' ELSE 'retry' END, CASE WHEN g.ends THEN ${failed} ELSE ${failing} END,
             translate(encode(g.error, 'base64'), E'\\n', ''))::text)
       FROM judged AS g WHERE j.tid = g.tid AND j.id = g.id
       RETURNING g.n, g.ends, CASE WHEN g.ends THEN j.expires_at ELSE j.run_at END AS at),`
