// clear: empties the schema, for tests and demos. Types stay, because other processes cache their numbers; their pauses and limits in use end.

import type { Statement } from '../connection/database.ts'
import { tables } from '../schema.ts'
import type { Sql } from '../sql/statement.ts'
import type { OpenStorage } from './open-storage.ts'

/** Several statements in one round trip. */
export const clearStatement = ({ at }: Sql): Statement => ({
  name: '',
  text: [
    ...tables.map((table) => `DELETE FROM ${at}${table}`),
    `UPDATE ${at}types SET paused_since = NULL, paused_by = NULL, flow = NULL, ruled = NULL`,
  ].join('; '),
})

export async function clear({ database, statements }: OpenStorage): Promise<void> {
  await database.transaction((transaction) => transaction.query(statements.clear, []))
}
