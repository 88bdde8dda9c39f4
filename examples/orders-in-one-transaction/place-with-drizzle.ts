// With Drizzle: drizzleTx() of its transaction is the `tx`.

import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import { drizzleTx } from 'holdfast/postgres'
import { checkCredit, enqueueSteps } from './order.ts'
import type { Placing } from './shop.ts'

const orders = pgTable('orders', {
  id: text().primaryKey(),
  customer: text().notNull(),
  cents: integer().notNull(),
})

export const placeWithDrizzle: Placing = (pool, queues) => {
  const db = drizzle(pool)
  return (order) =>
    db.transaction(async (tx) => {
      await tx.insert(orders).values(order)
      await enqueueSteps(queues, order, drizzleTx(tx))
      checkCredit(order)
    })
}
