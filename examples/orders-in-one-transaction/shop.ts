// A shop: an order is a row and two jobs, which send the receipt and the parcel. They are written in one transaction, so no order exists
// without its jobs and no job without its order, and no worker sees a job before the order is committed.

import { Queue } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { storedType } from 'holdfast/storage'
import { Pool } from 'pg'
import { type Order, steps } from './order.ts'

/** One way to open a transaction: returns a function that places an order. If it rejects, nothing of the order was written. */
export type Placing = (pool: Pool, queues: readonly Queue<Order>[]) => (order: Order) => Promise<void>

export interface ShopReport {
  readonly placed: readonly string[]
  readonly refused: readonly string[]
  /** A sentence per problem. */
  readonly wrong: readonly string[]
}

const orders: readonly Order[] = [
  { id: 'order-1', customer: 'ada', cents: 4_200 },
  { id: 'order-2', customer: 'grace', cents: 1_999 },
  // Above the limit, which is checked after all rows are written.
  { id: 'order-3', customer: 'charles', cents: 1_000_000 },
  { id: 'order-4', customer: 'edsger', cents: 650 },
]

export async function runShop(url: string, placing: Placing): Promise<ShopReport> {
  const pool = new Pool({ connectionString: url })
  // Errors of idle connections: the pool replaces them. Without a listener they would end the process.
  pool.on('error', () => {})
  await pool.query(
    'CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, customer text NOT NULL, cents int NOT NULL)',
  )
  const storage = new PostgresStorage({ client: pool })
  const done = new CompletedJobs()
  const queues = steps.map((name) => new Queue<Order>({ storage, name }))
  for (const [index, queue] of queues.entries()) {
    queue.execute(async ({ payload }) => {
      // The row was committed with the job.
      const { rowCount } = await pool.query('SELECT 1 FROM orders WHERE id = $1', [payload.id])
      if (rowCount !== 1) throw new Error(`${payload.id} has no row`)
    })
    queue.on('completed', (id) => done.add(`${steps[index]} ${id}`))
  }
  await Promise.all(queues.map((queue) => queue.start()))

  const place = placing(pool, queues)
  const refused: string[] = []
  for (const order of orders) await place(order).catch(() => refused.push(order.id))
  const placed = orders.map(({ id }) => id).filter((id) => !refused.includes(id))
  await done.waitFor(placed.flatMap((id) => steps.map((step) => `${step} ${id}`)))

  const wrong = await findWrong(pool, storage, placed)
  await Promise.all(queues.map((queue) => queue.stop()))
  await pool.end()
  return { placed, refused, wrong }
}

async function findWrong(pool: Pool, storage: PostgresStorage, placed: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM orders ORDER BY id')
  const booked = rows.map(({ id }) => id)
  const types = steps.map((name) => storedType('queue', name))
  const { items } = await storage.list({ of: 'jobs', types, limit: 100 })
  const extra = items.filter(({ id }) => !placed.includes(id))
  return [
    ...(booked.join() === placed.join() ? [] : [`the table has ${booked.join(', ')}`]),
    ...extra.map(({ type, id }) => `${type} ${id} exists without its order`),
  ]
}

/** The completed jobs, and a wait for some of them. */
class CompletedJobs {
  readonly #names = new Set<string>()
  #check: () => void = () => {}

  add(name: string): void {
    this.#names.add(name)
    this.#check()
  }

  waitFor(names: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      this.#check = () => {
        if (names.every((name) => this.#names.has(name))) resolve()
      }
      this.#check()
    })
  }
}
