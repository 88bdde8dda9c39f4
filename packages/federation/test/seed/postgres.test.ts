// The sending side on Postgres: jobs and tables in one database.

import { after } from 'node:test'
import { PostgresStorage } from 'holdfast/postgres'
import { Pool } from 'pg'
import { startPostgres } from '../../../../servers/postgres.ts'
import { planOnce } from '../../../holdfast/test/postgres-subject.ts'
import { postgresStore } from '../../src/store/postgres/postgres-store.ts'
import { seedTests } from './suite.ts'
import { tables } from '../store/tables.ts'

const server = await startPostgres({ settings: { max_connections: '100', ...planOnce } })
const pool = new Pool({ connectionString: server.url, max: 20, idleTimeoutMillis: 0 })
pool.on('error', () => {})
after(async () => {
  await pool.end()
  await server.stop()
})
let isMade = false

await seedTests({
  name: 'postgres',
  open: async () => {
    // All tests share the tables: creating them takes longer than most tests.
    const storage = new PostgresStorage({ client: pool, schema: 'jobs', migrate: !isMade })
    const store = postgresStore({ storage, migrate: !isMade })
    isMade = true
    const close = async (): Promise<void> => {
      await storage.clear()
      await pool.query(tables.map((table) => `DELETE FROM fed_${table}`).join(';'))
    }
    return { storage, store, close }
  },
})
