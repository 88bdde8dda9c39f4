// The Queue on Postgres by way of postgres.js: a private server for the file, and a schema of its own for each test.

import { after } from 'node:test'
import { PostgresStorage } from 'holdfast/postgres'
import { newSchema, postgresWay, stopPostgres } from '../postgres-subject.ts'
import { queueTests } from './suites.ts'

after(stopPostgres)

queueTests({
  name: 'postgres-js',
  open: async () => {
    const storage = new PostgresStorage({ ...(await postgresWay('postgresjs')), schema: newSchema() })
    // The tables are made here, not in the time that a test measures.
    await storage.connect()
    await storage.disconnect()
    return { storage, close: async () => {} }
  },
})
