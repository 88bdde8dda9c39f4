// Postgres for the Queue's tests: a private server for the file, and a schema of its own for each test.

import { PostgresStorage } from 'holdfast/postgres'
import {
  giveSchemaBack,
  planOnce,
  type PostgresClientName,
  postgresPlace,
  postgresWay,
  takeSchema,
} from '../postgres-subject.ts'
import type { TestDriver } from './driver.ts'

export function postgresDriver(name: string, client: PostgresClientName): TestDriver {
  return {
    name,
    transactions: true,
    open: async () => {
      const schema = takeSchema()
      await postgresPlace(planOnce)
      const storage = new PostgresStorage({ ...(await postgresWay(client)), schema })
      // The tables are made here, not in the time that a test measures.
      await storage.connect()
      await storage.disconnect()
      return { storage, close: () => giveSchemaBack(storage, schema) }
    },
  }
}
