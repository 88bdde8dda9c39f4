// Chooses the client library: that of the given client, or the installed one; pg if both are.

import { invalidArgument } from '../../../errors.ts'
import { isPgPool, isPostgresSql } from './client.ts'
import type { Connector } from './connector.ts'
import type { DatabaseOptions } from './database.ts'
import { type Libraries, loadPg, loadPostgresJs, missingClient, missingPostgresJs } from './libraries.ts'
import { ownSettings, PgConnector } from './pg-connector.ts'
import { PostgresJsConnector } from './postgres-js-connector.ts'

/** Rejects with MISSING_DEPENDENCY or INVALID_ARGUMENT. @param libraries for tests: replaces the installed ones */
export async function openConnector(options: DatabaseOptions, libraries?: Libraries): Promise<Connector> {
  const { url, client, poolSize, callTimeoutMs } = options
  if (isPgPool(client)) return new PgConnector(client, { ...options, isOurs: false })
  if (client && !isPostgresSql(client)) throw invalidArgument('client', 'a Pool of pg, or a Sql of postgres.js', client)
  const pg = client ? undefined : await loadPg(libraries)
  if (pg) {
    // Longer than callTimeoutMs: by then the calls have rejected with their own message, and it only frees the pool's slot.
    const settings = { connectionString: url, max: poolSize, connectionTimeoutMillis: 2 * callTimeoutMs }
    return new PgConnector(new pg.Pool({ ...ownSettings, ...settings }), { ...options, isOurs: true })
  }
  const newSql = await loadPostgresJs(libraries)
  if (!newSql) throw client ? missingPostgresJs() : missingClient()
  if (!client)
    return new PostgresJsConnector(newSql, newSql(url!, { connection: { application_name: 'holdfast' } }), options)
  const { max } = client.options as { max: number }
  return new PostgresJsConnector(newSql, client, { ...options, poolSize: max })
}
