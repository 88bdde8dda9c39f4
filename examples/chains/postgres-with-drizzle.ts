// node --conditions=@holdfast/source examples/chains/postgres-with-drizzle.ts
//
// Postgres with Drizzle: an order and the chain that ships it are written in a transaction of Drizzle's. The parcel and the end of the
// job are written in a transaction of the worker's, on whose client Drizzle runs its queries. parts/shop.ts has server, client and worker.

import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { drizzleTx, type PostgresTransaction } from 'holdfast/postgres'
import type { PoolClient } from 'pg'
import { client, pool, runShop } from './parts/shop.ts'

const orders = pgTable('orders', { id: text().primaryKey() })
const parcels = pgTable('parcels', { orderId: text('order_id').primaryKey() })
const db = drizzle(pool)

await runShop({
  place: (id, isRefused) =>
    db.transaction(async (tx) => {
      await tx.insert(orders).values({ id })
      const chain = await client.startJobChain({ typeName: 'ship', input: { orderId: id }, tx: drizzleTx(tx) })
      if (isRefused) throw new Error('no credit')
      return chain
    }),

  // The worker begins and ends this transaction.
  addParcel: (tx, orderId) =>
    drizzle((tx as PostgresTransaction).client as PoolClient)
      .insert(parcels)
      .values({ orderId }),

  count: (table) => db.$count(table === 'orders' ? orders : parcels),
})
