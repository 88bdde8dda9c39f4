// What the examples on Postgres run: a private server, a shop whose orders start chains, and a worker that makes a parcel of each,
// with whatever library writes the rows.

import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { PostgresStorage } from 'holdfast/postgres'
import { Pool } from 'pg'
import { startPostgres } from '../../../servers/postgres.ts'

const jobTypeRegistry = defineJobTypes<{ ship: { entry: true; input: { orderId: string }; output: string } }>()

const server = await startPostgres()
export const pool = new Pool({ connectionString: server.url })
// Of connections that nobody uses at the moment: the pool replaces them. Unheard, it would end the process.
pool.on('error', () => {})
await pool.query('CREATE TABLE orders (id text PRIMARY KEY)')
await pool.query('CREATE TABLE parcels (order_id text PRIMARY KEY)')

const storage = new PostgresStorage({ client: pool })
export const client = await createClient({ storage, jobTypeRegistry })

interface Rows {
  /** An order, and the chain that ships it, in one transaction of yours: both or neither. */
  place(id: string, isRefused: boolean): ReturnType<typeof client.startJobChain<'ship'>>
  /** In the transaction of the worker's that completes the job. */
  addParcel(tx: object, orderId: string): Promise<unknown>
  count(table: 'orders' | 'parcels'): Promise<number>
}

export async function runShop({ place, addParcel, count }: Rows): Promise<void> {
  const worker = await createInProcessWorker({
    storage,
    jobTypeRegistry,
    jobTypeProcessing: { defaultRetryConfig: { initialDelayMs: 20 } },
    jobTypeProcessors: {
      ship: {
        process: async ({ job, complete }) => {
          const { orderId } = job.input
          const completion = await complete(async ({ tx }) => {
            await addParcel(tx, orderId)
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
  const { items } = await client.listJobChains()
  console.log(`orders: ${await count('orders')}, parcels: ${await count('parcels')}, chains: ${items.length}`)
  await client.close()
  await pool.end()
  await server.stop()
}
