// cancel, the short way: jobs that wait, and are alone. One statement, committed by itself; it says which ones it has
// cancelled, and the rules decide about the others.

import type { JobRef } from '../../storage.ts'
import type { Connection, Statement } from '../connection/database.ts'
import { encodeHints } from '../verbs/hints.ts'
import { columns, param, type Sql } from '../rules/statements.ts'
import { encodeText } from '../rules/text.ts'
import type { Types } from '../rules/types.ts'
import type { Told } from './after-commit.ts'

export function fastCancelStatement({ at, now, statement }: Sql): Statement {
  return statement(
    'fast_cancel',
    `WITH clock AS MATERIALIZED (SELECT ${now} AS now),
     gone AS (
       UPDATE ${at}jobs AS j SET state = 7, line = NULL, finished_at = now, expires_at = nullif(now + keep_ms, 'Infinity'),
         sweep_at = nullif(now + keep_ms, 'Infinity')
       FROM clock
       WHERE j.tid = ${param(1, 'integer')} AND j.id = ${param(2, 'text')} AND j.kind = 0 AND j.line + 0 = 1
         AND (j.more IS NULL OR j.more NOT LIKE '%"retention"%')
       RETURNING 1)
     SELECT ${columns('count(*)', `CASE WHEN count(*) > 0 THEN pg_notify(${param(3, 'text')}, ${param(4, 'text')}) END`)}
     FROM gone`,
  )
}

/** False: nothing was done, and the rules must decide. */
export async function fastCancel(
  connection: Pick<Connection, 'query'>,
  statement: Statement,
  types: Types,
  { type, id }: JobRef,
  told: Told,
): Promise<boolean> {
  const tid = types.tidOf(type)
  if (tid === undefined || told.hasEvents(type)) return false
  const done = { kind: 'done', type, ids: [id] } as const
  const values = [tid, encodeText(id), told.channel, encodeHints([done], told.from)!]
  const [row] = await connection.query(statement, values)
  if (row![0] === '0') return false
  told.signal(done)
  return true
}
