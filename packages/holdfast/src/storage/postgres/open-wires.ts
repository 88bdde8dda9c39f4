// Which library the connections are made by: that of the client that was passed in, or one that is installed.

import { loadPg, type PgLibrary } from './client.ts'
import type { DatabaseOptions } from './database.ts'
import { ownSettings, PgWires } from './pg-wires.ts'
import type { Wires } from './wire.ts'

/** @param load for tests */
export async function openWires(options: DatabaseOptions, load: () => Promise<PgLibrary> = loadPg): Promise<Wires> {
  const { url, client, poolSize, callTimeoutMs } = options
  if (client) return new PgWires(client, { ...options, isOurs: false })
  const { Pool } = await load()
  const pool = new Pool({
    ...ownSettings,
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: callTimeoutMs,
  })
  return new PgWires(pool, { ...options, isOurs: true })
}
