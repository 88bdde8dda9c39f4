// A shop: an order is a row, and two jobs that send the receipt and the parcel. They are written in one transaction, so there is
// no order without its jobs and no job without its order, whatever happens in between; and no worker sees a job before the
// order is committed.

import { Queue } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { Pool } from 'pg'
import { type Order, steps } from './order.ts'

/** One way to open a transaction: it gives the way to place an order. Rejects: nothing of that order is there. */
export type Placing = (pool: Pool, storage: PostgresStorage) => (order: Order) => Promise<void>

export interface ShopReport {
  readonly placed: readonly string[]
  readonly refused: readonly string[]
  /** Sentences; none if all is as it should be. */
  readonly wrong: readonly string[]
}

const orders: readonly Order[] = [
  { id: 'order-1', customer: 'ada', cents: 4_200 },
  { id: 'order-2', customer: 'grace', cents: 1_999 },
  // More than anybody may spend at once: found out when all is written already.
  { id: 'order-3', customer: 'charles', cents: 1_000_000 },
  { id: 'order-4', customer: 'edsger', cents: 650 },
]

export async function runShop(url: string, placing: Placing): Promise<ShopReport> {
  const pool = new Pool({ connectionString: url })
  // Of connections that nobody uses at the moment: the pool replaces them. Unheard, it would end the process.
  pool.on('error', () => {})
  await pool.query(
    'CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, customer text NOT NULL, cents int NOT NULL)',
  )
  const storage = new PostgresStorage({ client: pool })
  const done = new Done()
  const queues = steps.map((name) => new Queue<Order>({ storage, name }))
  for (const [index, queue] of queues.entries()) {
    queue.execute(async ({ payload }) => {
      // What a worker reads here was committed with its job.
      const { rowCount } = await pool.query('SELECT 1 FROM orders WHERE id = $1', [payload.id])
      if (rowCount !== 1) throw new Error(`${payload.id} is not in the books`)
    })
    queue.on('completed', (id) => done.add(`${steps[index]} ${id}`))
  }
  await Promise.all(queues.map((queue) => queue.start()))

  const place = placing(pool, storage)
  const refused: string[] = []
  for (const order of orders) await place(order).catch(() => refused.push(order.id))
  const placed = orders.map(({ id }) => id).filter((id) => !refused.includes(id))
  await done.has(placed.flatMap((id) => steps.map((step) => `${step} ${id}`)))

  const wrong = await findWrong(pool, storage, placed)
  await Promise.all(queues.map((queue) => queue.stop()))
  await pool.end()
  return { placed, refused, wrong }
}

async function findWrong(pool: Pool, storage: PostgresStorage, placed: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM orders ORDER BY id')
  const booked = rows.map(({ id }) => id)
  const { items } = await storage.list({ of: 'jobs', types: steps, limit: 100 })
  const extra = items.filter(({ id }) => !placed.includes(id))
  return [
    ...(booked.join() === placed.join() ? [] : [`in the books are ${booked.join(', ')}`]),
    ...extra.map(({ type, id }) => `${type} ${id} is there without its order`),
  ]
}

/** What was done, and somebody who waits for it. */
class Done {
  readonly #names = new Set<string>()
  #look: () => void = () => {}

  add(name: string): void {
    this.#names.add(name)
    this.#look()
  }

  has(names: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      this.#look = () => {
        if (names.every((name) => this.#names.has(name))) resolve()
      }
      this.#look()
    })
  }
}
