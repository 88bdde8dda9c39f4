// extend: one statement that waits for no lock. A row that another transaction has locked is `busy`; where the fence does not match,
// the record says why. `state + 0` keeps the planner from the index over all leases: a job is looked up by its id. Reports are stored by
// the same statement, for the jobs that it extends.

import { decodeMore } from '../../rows/more.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import { find, type Move } from '../../rules/move.ts'
import { refusalOf } from '../../rules/settle.ts'
import type { Extension, LeaseVerdict } from '../../storage.ts'
import type { Statement } from '../connection/database.ts'
import { LoadedRows } from '../rules/loaded-rows.ts'
import { PostgresMove } from '../rules/move.ts'
import { type NewReport, reportParams } from '../rules/report.ts'
import { WorkingSet } from '../rules/working-set.ts'
import { cell, jobCells, kindCodes } from '../sql/job-columns.ts'
import { storedReports } from '../sql/report-statements.ts'
import { columns, fewRows, param, type Sql } from '../sql/statement.ts'
import { arrayOf, encodeText } from '../sql/text.ts'
import type { OpenStorage } from './open-storage.ts'
import { snapshot } from './snapshot.ts'

/** With reports, which few calls have, the parameters from $6 on are those of storedReports(). */
export function extendStatement(sql: Sql, withReports: boolean): Statement {
  const { at, now, statement } = sql
  const kind = `CASE WHEN j.kind = ${kindCodes.alone} AND h.n = ANY (${param(6, 'bigint[]')}) THEN ${kindCodes.indexed} ELSE j.kind END`
  // One whose report another call was faster to change is `busy`, like a locked one.
  const isKept = `(e.n <> ALL (${param(6, 'bigint[]')}) OR e.seq IN (SELECT seq FROM kept))`
  const told = withReports ? `(SELECT e.* FROM extended AS e WHERE ${isKept}) AS told` : 'extended'
  return statement(
    withReports ? 'extend_reporting' : 'extend',
    `WITH clock AS MATERIALIZED (SELECT ${now} AS now),
     given AS MATERIALIZED (
       SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'text[]')},
         ${param(4, 'integer[]')}, ${param(5, 'double precision[]')})
         WITH ORDINALITY AS g (tid, id, worker, attempt, lease_ms, n) ${fewRows}),
     held AS MATERIALIZED (
       SELECT g.n, g.lease_ms, j.*
       FROM given AS g CROSS JOIN LATERAL (
         SELECT j.tid, j.id FROM ${at}jobs AS j
         WHERE j.tid = g.tid AND j.id = g.id AND j.state + 0 = ${stateCodes.processing} AND j.worker = g.worker AND j.attempt = g.attempt
         FOR UPDATE SKIP LOCKED) AS j),
     extended AS (
       UPDATE ${at}jobs AS j SET lease_until = (SELECT now FROM clock) + h.lease_ms${withReports ? `, kind = ${kind}` : ''}
       FROM held AS h WHERE j.tid = h.tid AND j.id = h.id
       RETURNING h.n, j.seq, j.lease_until, j.kind, j.more)${withReports ? `, ${storedReports(sql, 6, 'extended')}` : ''}
     SELECT ${columns('now', 'n', 'lease_until', 'kind', 'more', ...jobCells('j').map(() => 'NULL'))} FROM clock, ${told}
     UNION ALL
     SELECT ${columns('now', 'g.n', 'NULL', 'NULL', 'NULL', ...jobCells('j'))} FROM clock, given AS g CROSS JOIN LATERAL (
       SELECT * FROM ${at}jobs AS j WHERE j.tid = g.tid AND j.id = g.id LIMIT 1) AS j
     WHERE g.n NOT IN (SELECT n FROM ${told})`,
  )
}

/** On the reserved connection, so that a pool in use costs no lease. */
export async function extend(open: OpenStorage, leases: readonly Extension[]): Promise<LeaseVerdict[]> {
  const { types, database } = open
  await types.find(
    database.reserved,
    leases.map(({ type }) => type),
  )
  const verdicts: (LeaseVerdict | undefined)[] = []
  for (const batch of withoutRepeats(leases)) verdicts.push(...(await extendBatch(open, batch)))
  if (!verdicts.includes(undefined)) return verdicts as LeaseVerdict[]
  const move = await snapshot(open, database.reserved, leases)
  return leases.map((lease, index) => verdicts[index] ?? refusalVerdict(move, lease))
}

/** Undefined for a job that was not extended and is linked: its own row is not enough to say why. */
async function extendBatch(
  { database, statements, types }: OpenStorage,
  leases: readonly Extension[],
): Promise<(LeaseVerdict | undefined)[]> {
  const reports = leases.flatMap((lease, index) => reportOf(lease, index + 1))
  const statement = reports.length > 0 ? statements.extendReporting : statements.extend
  const rows = await database.reserved.query(statement, [
    arrayOf(leases.map(({ type }) => types.tidOf(type) ?? 0)),
    arrayOf(leases.map(({ id }) => encodeText(id))),
    arrayOf(leases.map(({ worker }) => encodeText(worker))),
    arrayOf(leases.map(({ attempt }) => attempt)),
    arrayOf(leases.map(({ leaseMs }) => leaseMs)),
    ...(reports.length > 0 ? reportParams(reports) : []),
  ])
  const verdicts: (LeaseVerdict | undefined)[] = leases.map(() => ({ verdict: 'not_found' }))
  const loaded = new LoadedRows()
  for (const [, n, leaseUntil, kind, text, ...row] of rows) {
    const index = Number(n) - 1
    if (leaseUntil === null) {
      loaded.keepJob(row, false)
      const move = new PostgresMove(new WorkingSet(loaded, types, true), Number(rows[0]![0]))
      const isLinked = Number(row[cell.kind]) === kindCodes.linked
      verdicts[index] = isLinked ? undefined : refusalVerdict(move, leases[index]!)
      continue
    }
    const until = Number(leaseUntil)
    const more = Number(kind) === kindCodes.alone ? undefined : decodeMore(text!)
    verdicts[index] = more?.cancelling
      ? { verdict: 'cancelling', until, reason: more.cancelReason }
      : { verdict: 'extended', until }
  }
  return verdicts
}

function reportOf({ progress, log, attempt }: Extension, n: number): [n: number, report: NewReport][] {
  if (progress === undefined && !log?.length) return []
  return [[n, { progress, lines: log?.map((line) => ({ attempt, ...line })) ?? [] }]]
}

/** Why a lease was not extended. */
function refusalVerdict(move: Move, lease: Extension): LeaseVerdict {
  const job = find(move, lease)
  const isHeld = job?.state === 'processing' && job.lease!.worker === lease.worker && job.attempt === lease.attempt
  return { verdict: isHeld ? 'busy' : refusalOf(move, job) }
}

/** Batches that name each job once: a statement changes a row only once. */
function withoutRepeats(leases: readonly Extension[]): readonly (readonly Extension[])[] {
  const batches: Extension[][] = []
  let seen = new Set<string>()
  for (const lease of leases) {
    const name = `${lease.type.length}/${lease.type}/${lease.id}`
    if (batches.length === 0 || seen.has(name)) {
      batches.push([])
      seen = new Set()
    }
    seen.add(name)
    batches.at(-1)!.push(lease)
  }
  return batches
}
