// Chains on Postgres, by way of pg and of postgres.js: a private server for the file, a schema of its own for each test,
// and a table of the user's in it. By postgres.js only what is about transactions and leases; HOLDFAST_TEST_ALL=1 runs everything.

import { after } from 'node:test'
import type { ClientBase } from 'pg'
import type { Sql } from 'postgres'
import { PostgresStorage, type PostgresTransaction } from 'holdfast/postgres'
import { giveSchemaBack, planOnce, postgresPlace, postgresWay, stopPostgres, takeSchema } from '../postgres-subject.ts'
import type { ChainDriver } from './driver.ts'
import { leaseTests } from './leases.ts'
import { chainTests } from './suites.ts'
import { transactionTests } from './transactions.ts'

after(stopPostgres)

/** By a way whose other tests have passed by pg. */
function otherWayTests(driver: ChainDriver): void {
  if (process.env.HOLDFAST_TEST_ALL === '1') return chainTests(driver)
  leaseTests(driver)
  transactionTests(driver)
}

for (const client of ['pg', 'postgresjs'] as const) {
  const tests = client === 'pg' ? chainTests : otherWayTests
  tests({
    name: client === 'pg' ? 'postgres' : 'postgres.js',
    open: async () => {
      const schema = takeSchema()
      const { pool } = await postgresPlace(planOnce)
      const orders = `"orders of ${schema}"`
      await pool.query(`DROP TABLE IF EXISTS ${orders}; CREATE TABLE ${orders} (id text NOT NULL)`)
      const storage = new PostgresStorage({ ...(await postgresWay(client)), schema })
      return {
        storage,
        rows: {
          add: async (tx, id) => {
            const own = (tx as PostgresTransaction).client
            const insert = `INSERT INTO ${orders} VALUES ($1)`
            if (client === 'pg') await (own as ClientBase).query(insert, [id])
            else await (own as Sql).unsafe(insert, [id])
          },
          ids: async () =>
            (await pool.query<{ id: string }>(`SELECT id FROM ${orders} ORDER BY id`)).rows.map(({ id }) => id),
        },
        close: () => giveSchemaBack(storage, schema),
      }
    },
  })
}
