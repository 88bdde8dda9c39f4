// node --conditions=@holdfast/source examples/chains/postgres-with-kysely.ts
//
// On Postgres, with Kysely: an order and the chain that ships it are one transaction of yours; the parcel and the end of the job
// are one transaction of the worker's, on whose client Kysely has its queries run. It starts a private server of its own.

import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast'
import { kyselyTx, PostgresStorage, type PostgresTransaction } from 'holdfast/postgres'
import { type Compilable, Kysely, PostgresDialect } from 'kysely'
import { type ClientBase, Pool } from 'pg'
import { startPostgres } from '../../servers/postgres.ts'

interface Tables {
  readonly orders: { readonly id: string }
  readonly parcels: { readonly order_id: string }
}

const server = await startPostgres()
const pool = new Pool({ connectionString: server.url })
// Of connections that nobody uses at the moment: the pool replaces them. Unheard, it would end the process.
pool.on('error', () => {})
await pool.query('CREATE TABLE orders (id text PRIMARY KEY)')
await pool.query('CREATE TABLE parcels (order_id text PRIMARY KEY)')

const storage = new PostgresStorage({ client: pool })
const jobTypeRegistry = defineJobTypes<{ ship: { entry: true; input: { orderId: string }; output: string } }>()
const client = await createClient({ storage, jobTypeRegistry })
const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })

const place = (id: string, isRefused: boolean) =>
  db.transaction().execute(async (trx) => {
    await trx.insertInto('orders').values({ id }).execute()
    const chain = await client.startJobChain({ typeName: 'ship', input: { orderId: id }, tx: kyselyTx(trx) })
    if (isRefused) throw new Error('no credit')
    return chain
  })

/** In a transaction of the worker's: a query that Kysely has written, on the client that has it open. */
async function runIn<Row extends object>(tx: object, query: Compilable<Row>): Promise<Row[]> {
  const { sql, parameters } = query.compile()
  const own = (tx as PostgresTransaction).client as ClientBase
  return (await own.query<Row>(sql, [...parameters])).rows
}

const worker = await createInProcessWorker({
  storage,
  jobTypeRegistry,
  jobTypeProcessing: { defaultRetryConfig: { initialDelayMs: 20 } },
  jobTypeProcessors: {
    ship: {
      process: async ({ job, complete }) => {
        const { orderId } = job.input
        const completion = await complete(async ({ tx }) => {
          await runIn(tx, db.insertInto('parcels').values({ order_id: orderId }))
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
const count = async (table: keyof Tables): Promise<number> =>
  Number(
    (
      await db
        .selectFrom(table)
        .select((all) => all.fn.countAll().as('count'))
        .executeTakeFirstOrThrow()
    ).count,
  )
const [orderCount, parcelCount] = [await count('orders'), await count('parcels')]
const { items } = await client.listJobChains()
console.log(`orders: ${orderCount}, parcels: ${parcelCount}, chains: ${items.length}`)
await client.close()
await pool.end()
await server.stop()
