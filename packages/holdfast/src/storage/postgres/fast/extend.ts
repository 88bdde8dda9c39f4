// extend: one statement that waits for no lock. A row that somebody has locked is `busy`; where the fence does not match,
// the record says why. `state + 0`: so that a job is looked for by its name, not among all leases.

import type { Extension, LeaseVerdict } from '../../storage.ts'
import { find, type Move } from '../../rules/move.ts'
import { refusalOf } from '../../rules/settle.ts'
import type { Connection, Statement } from '../connection/database.ts'
import { kindIndex } from '../rules/job.ts'
import { Loaded } from '../rules/loaded.ts'
import { decodeMore } from '../../rows/more.ts'
import { PostgresMove } from '../rules/move.ts'
import { columns, few, jobCells, param, type Sql } from '../rules/statements.ts'
import { arrayOf, encodeText } from '../rules/text.ts'
import type { Types } from '../rules/types.ts'
import { WorkingSet } from '../rules/working-set.ts'

export function extendStatement({ at, now, statement }: Sql): Statement {
  return statement(
    'extend',
    `WITH clock AS MATERIALIZED (SELECT ${now} AS now),
     given AS MATERIALIZED (
       SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'text[]')},
         ${param(4, 'integer[]')}, ${param(5, 'double precision[]')})
         WITH ORDINALITY AS g (tid, id, worker, attempt, lease_ms, n) ${few}),
     held AS MATERIALIZED (
       SELECT g.n, g.lease_ms, j.*
       FROM given AS g CROSS JOIN LATERAL (
         SELECT j.tid, j.id FROM ${at}jobs AS j
         WHERE j.tid = g.tid AND j.id = g.id AND j.state + 0 = 3 AND j.worker = g.worker AND j.attempt = g.attempt
         FOR UPDATE SKIP LOCKED) AS j),
     extended AS (
       UPDATE ${at}jobs AS j SET lease_until = (SELECT now FROM clock) + h.lease_ms
       FROM held AS h WHERE j.tid = h.tid AND j.id = h.id
       RETURNING h.n, j.lease_until, j.kind, j.more)
     SELECT ${columns('now', 'n', 'lease_until', 'kind', 'more', ...jobCells('j').map(() => 'NULL'))} FROM clock, extended
     UNION ALL
     SELECT ${columns('now', 'g.n', 'NULL', 'NULL', 'NULL', ...jobCells('j'))} FROM clock, given AS g CROSS JOIN LATERAL (
       SELECT * FROM ${at}jobs AS j WHERE j.tid = g.tid AND j.id = g.id LIMIT 1) AS j
     WHERE g.n NOT IN (SELECT n FROM extended)`,
  )
}

/** Undefined: its job is one of several, and more than its own row must be looked at. */
export async function extendFree(
  connection: Connection,
  statement: Statement,
  types: Types,
  leases: readonly Extension[],
): Promise<(LeaseVerdict | undefined)[]> {
  const rows = await connection.query(statement, [
    arrayOf(leases.map(({ type }) => types.tidOf(type) ?? 0)),
    arrayOf(leases.map(({ id }) => encodeText(id))),
    arrayOf(leases.map(({ worker }) => encodeText(worker))),
    arrayOf(leases.map(({ attempt }) => attempt)),
    arrayOf(leases.map(({ leaseMs }) => leaseMs)),
  ])
  const verdicts: (LeaseVerdict | undefined)[] = leases.map(() => ({ verdict: 'not_found' }))
  const loaded = new Loaded()
  for (const [, n, leaseUntil, kind, text, ...row] of rows) {
    const index = Number(n) - 1
    if (leaseUntil === null) {
      loaded.keepJob(row, false)
      const move = new PostgresMove(new WorkingSet(loaded, types, true), Number(rows[0]![0]))
      verdicts[index] = row[kindIndex] === '2' ? undefined : whyNot(move, leases[index]!)
      continue
    }
    const until = Number(leaseUntil)
    const more = kind === '0' ? undefined : decodeMore(text!)
    verdicts[index] = more?.cancelling
      ? { verdict: 'cancelling', until, reason: more.cancelReason }
      : { verdict: 'extended', until }
  }
  return verdicts
}

/** Why a lease was not extended. */
export function whyNot(move: Move, lease: Extension): LeaseVerdict {
  const job = find(move, lease)
  const holds = job?.state === 'processing' && job.lease!.worker === lease.worker && job.attempt === lease.attempt
  return { verdict: holds ? 'busy' : refusalOf(move, job) }
}

/** In parts that name each job once, since a statement changes a row once. */
export function eachOnce(leases: readonly Extension[]): readonly (readonly Extension[])[] {
  const parts: Extension[][] = []
  let seen = new Set<string>()
  for (const lease of leases) {
    const name = `${lease.type.length}/${lease.type}/${lease.id}`
    if (parts.length === 0 || seen.has(name)) {
      parts.push([])
      seen = new Set()
    }
    seen.add(name)
    parts.at(-1)!.push(lease)
  }
  return parts
}
