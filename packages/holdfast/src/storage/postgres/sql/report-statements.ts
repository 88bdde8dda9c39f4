// Statements on what attempts report: progress and log lines, in tables of their own. All writers of a job's report have locked the
// job's row. Old lines are deleted now and then, never too many; a reader leaves out what is beyond the bounds (rules/report.ts).

import { logBytesKept, logLinesKept } from '../../rules/job/codes.ts'
import { columns, fewRows, param, type Sql } from './statement.ts'

/** Old lines are looked for when the number of lines passes a multiple of this, and with every report of more bytes than this. */
const [linesPerTrim, bytesPerTrim] = [16, 4_096]

/**
 * Common table expressions that store reports: `kept` has the jobs whose report was stored. Lines that are stored already are left out
 * (rules/job/report.ts). The newest stored line is that of the statement's snapshot, which may be older than its lock on the job. So a
 * report with lines is stored only if no line was added since, which `reports` says.
 * @param first number of the first of nine parameters (rules/report.ts)
 * @param source a table with the number `n` of a report and the `seq` of its job; a report that is not in it is not stored
 */
export const storedReports = ({ at }: Sql, first: number, source: string): string => `
     given_reports AS MATERIALIZED (
       SELECT s.seq, r.*, p.lines AS stored, l.attempt, l.at
       FROM unnest(${param(first, 'bigint[]')}, ${param(first + 1, 'bytea[]')},
         ${param(first + 2, 'integer[]')}, ${param(first + 3, 'integer[]')}) AS r (n, progress, count, bytes)
       JOIN ${source} AS s ON s.n = r.n
       LEFT JOIN LATERAL (SELECT p.lines FROM ${at}reports AS p WHERE p.seq = s.seq LIMIT 1) AS p ON true
       LEFT JOIN LATERAL (
         SELECT o.attempt, o.at FROM ${at}log AS o WHERE o.seq = s.seq ORDER BY o.n DESC LIMIT 1) AS l ON r.count > 0),
     given_lines AS MATERIALIZED (
       SELECT d.n, l.place, l.attempt, l.at, l.line, d.attempt IS DISTINCT FROM l.attempt OR l.at > d.at AS is_new
       FROM unnest(${param(first + 4, 'bigint[]')}, ${param(first + 5, 'integer[]')}, ${param(first + 6, 'integer[]')},
         ${param(first + 7, 'double precision[]')}, ${param(first + 8, 'bytea[]')}) AS l (n, place, attempt, at, line)
       JOIN given_reports AS d ON d.n = l.n),
     reported AS MATERIALIZED (
       SELECT d.seq, d.n, d.progress, d.stored, d.count AS given,
         CASE WHEN f.known > 0 THEN f.added ELSE d.count END AS count,
         CASE WHEN f.known > 0 THEN f.bytes ELSE d.bytes END AS bytes
       FROM given_reports AS d CROSS JOIN LATERAL (
         SELECT count(*) FILTER (WHERE NOT l.is_new) AS known, count(*) FILTER (WHERE l.is_new) AS added,
           coalesce(sum(octet_length(l.line)) FILTER (WHERE l.is_new), 0) AS bytes
         FROM given_lines AS l WHERE l.n = d.n) AS f),
     kept AS (
       INSERT INTO ${at}reports AS r (seq, progress, lines) SELECT seq, progress, count FROM reported
       ON CONFLICT (seq) DO UPDATE SET progress = coalesce(EXCLUDED.progress, r.progress), lines = r.lines + EXCLUDED.lines
       WHERE EXCLUDED.lines = 0 OR r.lines = (SELECT d.stored FROM reported AS d WHERE d.seq = EXCLUDED.seq)
       RETURNING r.seq, r.lines),
     logged AS (
       INSERT INTO ${at}log (seq, n, attempt, at, line)
       SELECT k.seq, k.lines - d.given + l.place, l.attempt, l.at, l.line
       FROM given_lines AS l JOIN reported AS d ON d.n = l.n JOIN kept AS k ON k.seq = d.seq
       WHERE l.is_new),
     trimmed AS (
       DELETE FROM ${at}log AS l USING (
         SELECT o.seq, o.n FROM reported AS d JOIN kept AS k ON k.seq = d.seq CROSS JOIN LATERAL (
           SELECT o.seq, o.n, sum(octet_length(o.line)) OVER (ORDER BY o.n DESC) + d.bytes AS bytes
           FROM ${at}log AS o WHERE o.seq = d.seq OFFSET 0) AS o
         WHERE (k.lines / ${linesPerTrim} <> (k.lines - d.count) / ${linesPerTrim} OR d.bytes > ${bytesPerTrim})
           AND (o.bytes > ${logBytesKept} OR o.n <= k.lines - ${logLinesKept}) ${fewRows}) AS old
       WHERE l.seq = old.seq AND l.n = old.n)`

/** A report as JSON: progress as hex, number of lines ever, the newest lines if requested. NULL: none. */
const reportJson = ({ at }: Sql, seq: string, withLog: string): string => `(
       SELECT json_build_array(encode(r.progress, 'hex'), r.lines, CASE WHEN ${withLog} THEN (
         SELECT json_agg(json_build_array(l.n, l.attempt, l.at, encode(l.line, 'hex')) ORDER BY l.n) FROM (
           SELECT * FROM ${at}log AS l WHERE l.seq = r.seq ORDER BY l.n DESC LIMIT ${logLinesKept}) AS l) END)
       FROM ${at}reports AS r WHERE r.seq = ${seq})`

/** A column with the report of a job, if requested. @param report, log numbers of boolean parameters */
export const reportCell = (sql: Sql, seq: string, report: number, log: number): string =>
  `CASE WHEN ${param(report, 'boolean')} THEN ${reportJson(sql, seq, param(log, 'boolean'))} END`

export const reportStatements = (sql: Sql) => ({
  /** $1: seqs. */
  reports: sql.statement(
    'reports',
    `SELECT ${columns('w.seq', reportJson(sql, 'w.seq', 'true'))} FROM unnest(${param(1, 'bigint[]')}) AS w (seq)`,
  ),
  /** $1 … $9: the reports, numbered by the seqs of their jobs. */
  addReports: sql.statement(
    'add_reports',
    `WITH jobs AS MATERIALIZED (SELECT seq, seq AS n FROM unnest(${param(1, 'bigint[]')}) AS g (seq)),
     ${storedReports(sql, 1, 'jobs')} SELECT NULL::text AS c0 FROM kept LIMIT 1`,
  ),
})
