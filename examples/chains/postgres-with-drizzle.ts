// node --conditions=@holdfast/source examples/chains/postgres-with-drizzle.ts
//
// On Postgres, with Drizzle: an order and the chain that ships it are one transaction of yours; the parcel and the end of the job
// are one transaction of the worker's, on whose client Drizzle writes. It starts a private server of its own.

import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast'
import { drizzleTx, PostgresStorage, type PostgresTransaction } from 'holdfast/postgres'
import { Pool, type PoolClient } from 'pg'
import { startPostgres } from '../../servers/postgres.ts'

const orders = pgTable('orders', { id: text().primaryKey() })
const parcels = pgTable('parcels', { orderId: text('order_id').primaryKey() })

const server = await startPostgres()
const pool = new Pool({ connectionString: server.url })
// Of connections that nobody uses at the moment: the pool replaces them. Unheard, it would end the process.
pool.on('error', () => {})
await pool.query('CREATE TABLE orders (id text PRIMARY KEY)')
await pool.query('CREATE TABLE parcels (order_id text PRIMARY KEY)')

const storage = new PostgresStorage({ client: pool })
const jobTypeRegistry = defineJobTypes<{ ship: { entry: true; input: { orderId: string }; output: string } }>()
const client = await createClient({ storage, jobTypeRegistry })
const db = drizzle(pool)

const place = (id: string, isRefused: boolean) =>
  db.transaction(async (tx) => {
    await tx.insert(orders).values({ id })
    const chain = await client.startJobChain({ typeName: 'ship', input: { orderId: id }, tx: drizzleTx(tx) })
    if (isRefused) throw new Error('no credit')
    return chain
  })

/** In a transaction of the worker's. It begins and ends it, so none is begun here. */
const drizzleIn = (tx: object) => drizzle((tx as PostgresTransaction).client as PoolClient)

const worker = await createInProcessWorker({
  storage,
  jobTypeRegistry,
  jobTypeProcessing: { defaultRetryConfig: { initialDelayMs: 20 } },
  jobTypeProcessors: {
    ship: {
      process: async ({ job, complete }) => {
        const { orderId } = job.input
        const completion = await complete(async ({ tx }) => {
          await drizzleIn(tx).insert(parcels).values({ orderId })
          return `shipped ${orderId}`
        })
        // Nothing is committed yet: the next attempt finds no parcel of this one.
        if (job.attempt === 1) throw new Error('the label printer jams')
        return completion
      },
    },
  },
})
const stop = await worker.start()

for (const id of ['order-1', 'order-2']) {
  try {
    const chain = await place(id, id === 'order-2')
    console.log((await client.waitForJobChainCompletion(chain, { timeoutMs: 10_000 })).output)
  } catch (error) {
    console.log(`${id}: ${(error as Error).message}`)
  }
}
await stop()
const orderCount = await db.$count(orders)
const parcelCount = await db.$count(parcels)
const { items } = await client.listJobChains()
console.log(`orders: ${orderCount}, parcels: ${parcelCount}, chains: ${items.length}`)
await client.close()
await pool.end()
await server.stop()
