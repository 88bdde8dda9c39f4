// list: pages by key, along the index over createdAt.

import type { JobState, ListQuery, Page } from '../../storage.ts'
import { decodeCursor, pageOf } from '../../rules/list.ts'
import type { Connection } from '../connection/database.ts'
import { Loaded } from '../rules/loaded.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import { PostgresMove } from '../rules/move.ts'
import type { ReadStatements } from './reads.ts'
import { asked } from '../rules/statements.ts'
import { arrayOf, encodeText } from '../rules/text.ts'
import type { Types } from '../rules/types.ts'
import { WorkingSet } from '../rules/working-set.ts'

export async function list(
  connection: Pick<Connection, 'query'>,
  { listUp, listDown }: ReadStatements,
  types: Types,
  query: ListQuery,
): Promise<Page> {
  const [at, type, id] = query.cursor === undefined ? [null, null, null] : decodeCursor(query.cursor)
  const rows = await connection.query(query.order === 'asc' ? listUp : listDown, [
    query.types ? arrayOf(query.types.map(encodeText)) : null,
    query.states ? arrayOf(query.states.map((state: JobState) => stateCodes[state])) : null,
    String(query.of === 'chains'),
    query.chain ? encodeText(query.chain.type) : null,
    query.chain ? encodeText(query.chain.id) : null,
    String(query.rootOnly === true),
    query.createdFrom ?? 0,
    query.createdTo ?? 'Infinity',
    at,
    type === null ? null : encodeText(type),
    id === null ? null : encodeText(id),
    query.limit + 1,
    ...asked(query.parts),
  ])
  const loaded = new Loaded()
  const found: number[] = []
  for (const [, position, ...row] of rows) {
    loaded.keepJob(row, false)
    if (position !== null) found.push(Number(row[0]))
  }
  await types.findByTid(
    connection,
    rows.map((row) => Number(row[3])),
  )
  const set = new WorkingSet(loaded, types, true)
  return pageOf(new PostgresMove(set, Number(rows[0]?.[0] ?? 0)), query, set.jobsOf(found))
}
