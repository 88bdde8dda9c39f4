// Chains on Postgres: a private server for the file, a schema of its own and a table of the user's for each test.

import { after } from 'node:test'
import { PostgresStorage, type PostgresTransaction } from 'holdfast/postgres'
import { newSchema, postgresWay, stopPostgres } from '../postgres-subject.ts'
import { chainTests } from './suites.ts'

after(stopPostgres)

chainTests({
  name: 'postgres',
  open: async () => {
    const schema = newSchema()
    const storage = new PostgresStorage({ ...(await postgresWay()), schema })
    await storage.connect()
    const table = `"${schema}"."orders"`
    await storage.transaction(async (tx) => void (await tx.query(`CREATE TABLE ${table} (id text NOT NULL)`)))
    return {
      storage,
      rows: {
        add: async (tx, id) => {
          await (tx as PostgresTransaction).query(`INSERT INTO ${table} VALUES ($1)`, [id])
        },
        ids: () =>
          storage.transaction(async (tx) => {
            const rows = await tx.query(`SELECT id FROM ${table} ORDER BY id COLLATE "C"`)
            return rows.map((row) => Object.values(row)[0] as string)
          }),
      },
      close: () => storage.disconnect(),
    }
  },
})
