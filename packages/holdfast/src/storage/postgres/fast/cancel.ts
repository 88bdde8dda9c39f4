// The fast path of cancel: one waiting job that is tied to nothing else. One statement, committed by itself. If it cancels nothing,
// the rules decide.

import { stateCodes } from '../../rules/job/codes.ts'
import type { JobRef } from '../../storage.ts'
import type { Connection, Statement } from '../connection/database.ts'
import type { TypeRegistry } from '../rules/type-registry.ts'
import { hasRetentionCode, keptAfter, kindCodes, readyCodes } from '../sql/job-columns.ts'
import { columns, param, type Sql } from '../sql/statement.ts'
import { encodeText } from '../sql/text.ts'
import { isWatched } from '../sql/watch-statements.ts'
import type { AfterCommit } from './after-commit.ts'

export function fastCancelStatement({ at, now, statement }: Sql): Statement {
  const kept = keptAfter('cancelled', 'keep_ms')
  return statement(
    'fast_cancel',
    `WITH clock AS MATERIALIZED (SELECT ${now} AS now),
     gone AS (
       UPDATE ${at}jobs AS j SET state = ${stateCodes.cancelled}, ready = NULL, finished_at = now,
         expires_at = nullif(now + ${kept}, 'Infinity'), sweep_at = nullif(now + ${kept}, 'Infinity')
       FROM clock
       WHERE j.tid = ${param(1, 'integer')} AND j.id = ${param(2, 'text')} AND j.kind = ${kindCodes.alone} AND j.ready + 0 = ${readyCodes.ready}
         AND ${hasRetentionCode} AND NOT ${isWatched(at, 'j.tid')}
       RETURNING 1)
     SELECT ${columns('count(*)', `CASE WHEN count(*) > 0 THEN pg_notify(${param(3, 'text')}, ${param(4, 'text')}) END`)}
     FROM gone`,
  )
}

interface FastCancelOptions {
  readonly database: Pick<Connection, 'query'>
  readonly statements: { readonly fastCancel: Statement }
  readonly types: TypeRegistry
}

/** False: nothing was written, and the rules must decide. */
export async function fastCancel(
  { database, statements, types }: FastCancelOptions,
  { type, id }: JobRef,
  afterCommit: AfterCommit,
): Promise<boolean> {
  const tid = types.tidOf(type)
  if (tid === undefined || afterCommit.hasEventListeners(type)) return false
  const done = { kind: 'done', type, ids: [id] } as const
  const values = [tid, encodeText(id), afterCommit.channel, afterCommit.hint([done])]
  const [row] = await database.query(statements.fastCancel, values)
  if (row![0] === '0') return false
  afterCommit.signal(done)
  return true
}
