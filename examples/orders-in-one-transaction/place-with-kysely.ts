// With Kysely: its `trx`, by way of kyselyTx().

import { kyselyTx } from 'holdfast/postgres'
import { Kysely, PostgresDialect } from 'kysely'
import { checkCredit, jobsOf, type Order } from './order.ts'
import type { Placing } from './shop.ts'

interface Tables {
  readonly orders: Order
}

export const placeWithKysely: Placing = (pool, storage) => {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return (order) =>
    db.transaction().execute(async (trx) => {
      await trx.insertInto('orders').values(order).execute()
      await storage.add(jobsOf(order), kyselyTx(trx))
      checkCredit(order)
    })
}
