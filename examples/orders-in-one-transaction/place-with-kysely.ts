// With Kysely: kyselyTx() of its transaction is the `tx`.

import { kyselyTx } from 'holdfast/postgres'
import { Kysely, PostgresDialect } from 'kysely'
import { checkCredit, enqueueSteps, type Order } from './order.ts'
import type { Placing } from './shop.ts'

interface Tables {
  readonly orders: Order
}

export const placeWithKysely: Placing = (pool, queues) => {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return (order) =>
    db.transaction().execute(async (trx) => {
      await trx.insertInto('orders').values(order).execute()
      await enqueueSteps(queues, order, kyselyTx(trx))
      checkCredit(order)
    })
}
