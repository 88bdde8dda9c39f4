// clear: empties the schema, for tests and demos. Types stay, because other processes cache their numbers; their pauses and limits in use end.

import type { Statement } from '../connection/database.ts'
import { tables } from '../schema.ts'
import type { Sql } from '../sql/statement.ts'
import type { OpenStorage } from './open-storage.ts'

export const clearStatements = ({ at }: Sql): readonly Statement[] => [
  ...tables.map((table) => ({ name: '', text: `DELETE FROM ${at}${table}` })),
  { name: '', text: `UPDATE ${at}types SET paused_since = NULL, paused_by = NULL, flow = NULL, ruled = NULL` },
]

export async function clear({ database, statements }: OpenStorage): Promise<void> {
  await database.transaction(async (connection) => {
    for (const statement of statements.clear) await connection.query(statement, [])
  })
}
