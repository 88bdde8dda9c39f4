// Which library the connections are made by: that of the client that was passed in, or one that is installed.

import { invalidArgument } from '../../../errors.ts'
import { isPgPool, isPostgresSql, type Libraries, loadPg, loadPostgresJs, missingClient } from './client.ts'
import type { DatabaseOptions } from './database.ts'
import { ownSettings, PgWires } from './pg-wires.ts'
import { PostgresJsWires } from './postgres-js-wires.ts'
import type { Wires } from './wire.ts'

/** Rejects with MISSING_DEPENDENCY or INVALID_ARGUMENT. @param libraries for tests, others than those installed */
export async function openWires(options: DatabaseOptions, libraries?: Libraries): Promise<Wires> {
  const { url, client, poolSize, callTimeoutMs } = options
  if (isPgPool(client)) return new PgWires(client, { ...options, isOurs: false })
  if (client && !isPostgresSql(client)) throw invalidArgument('client', 'a Pool of pg, or a Sql of postgres.js', client)
  const pg = client ? undefined : await loadPg(libraries)
  if (pg) {
    // Calls have given up by then, and said why; it is for connections that nobody waits for any more.
    const settings = { connectionString: url, max: poolSize, connectionTimeoutMillis: 2 * callTimeoutMs }
    return new PgWires(new pg.Pool({ ...ownSettings, ...settings }), { ...options, isOurs: true })
  }
  const newSql = await loadPostgresJs(libraries)
  if (!newSql) throw missingClient()
  if (!client)
    return new PostgresJsWires(newSql, newSql(url!, { connection: { application_name: 'holdfast' } }), options)
  const { max } = client.options as { max: number }
  return new PostgresJsWires(newSql, client, { ...options, poolSize: max })
}
