// The program of the Postgres examples: a private server, a shop whose orders start chains, and a worker that makes a parcel of each
// order. The examples bring the library that writes the rows.

import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { PostgresStorage } from 'holdfast/postgres'
import { Pool } from 'pg'
import { startPostgres } from '../../../servers/postgres.ts'

const jobTypeRegistry = defineJobTypes<{ ship: { entry: true; input: { orderId: string }; output: string } }>()

const server = await startPostgres()
export const pool = new Pool({ connectionString: server.url })
// Errors of idle connections: the pool replaces them. Without a listener they would end the process.
pool.on('error', () => {})
await pool.query('CREATE TABLE orders (id text PRIMARY KEY)')
await pool.query('CREATE TABLE parcels (order_id text PRIMARY KEY)')

const storage = new PostgresStorage({ client: pool })
export const client = await createClient({ storage, jobTypeRegistry })

interface Rows {
  /** Writes an order and the chain that ships it, in one transaction. */
  place(id: string, isRefused: boolean): ReturnType<typeof client.startJobChain<'ship'>>
  /** Writes a parcel in the transaction that completes the job. */
  addParcel(tx: object, orderId: string): Promise<unknown>
  count(table: 'orders' | 'parcels'): Promise<number>
}

export async function runShop({ place, addParcel, count }: Rows): Promise<void> {
  const worker = await createInProcessWorker({
    storage,
    jobTypeRegistry,
    backoff: { type: 'exponential', delayMs: 20 },
    jobTypeProcessors: {
      ship: {
        process: async ({ job, complete }) => {
          const { orderId } = job.input
          const completion = await complete(async ({ tx }) => {
            await addParcel(tx, orderId)
            return `shipped ${orderId}`
          })
          // Nothing is committed yet: the parcel is rolled back.
          if (job.attempt === 1) throw new Error('the label printer jams')
          return completion
        },
      },
    },
  })
  await worker.start()

  for (const id of ['order-1', 'order-2']) {
    try {
      const chain = await place(id, id === 'order-2')
      console.log((await client.waitForJobChainCompletion(chain, { timeoutMs: 10_000 })).output)
    } catch (error) {
      console.log(`${id}: ${(error as Error).message}`)
    }
  }
  await worker.stop()
  const { items } = await client.listJobChains()
  console.log(`orders: ${await count('orders')}, parcels: ${await count('parcels')}, chains: ${items.length}`)
  await client.close()
  await pool.end()
  await server.stop()
}
