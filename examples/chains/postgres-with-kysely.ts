// node --conditions=@holdfast/source examples/chains/postgres-with-kysely.ts
//
// Postgres with Kysely: an order and the chain that ships it are written in a transaction of Kysely's. The parcel and the end of the job
// are written in a transaction of the worker's, with a query that Kysely compiles. parts/shop.ts has server, client and worker.

import { kyselyTx, type PostgresTransaction } from 'holdfast/postgres'
import { Kysely, PostgresDialect } from 'kysely'
import type { ClientBase } from 'pg'
import { client, pool, runShop } from './parts/shop.ts'

interface Tables {
  readonly orders: { readonly id: string }
  readonly parcels: { readonly order_id: string }
}

const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })

await runShop({
  place: (id, isRefused) =>
    db.transaction().execute(async (trx) => {
      await trx.insertInto('orders').values({ id }).execute()
      const chain = await client.startJobChain({ typeName: 'ship', input: { orderId: id }, tx: kyselyTx(trx) })
      if (isRefused) throw new Error('no credit')
      return chain
    }),

  // Kysely compiles the query; the client of the worker's transaction runs it.
  addParcel: (tx, orderId) => {
    const { sql, parameters } = db.insertInto('parcels').values({ order_id: orderId }).compile()
    const own = (tx as PostgresTransaction).client as ClientBase
    return own.query(sql, [...parameters])
  },

  count: async (table) => {
    const all = db.selectFrom(table).select(({ fn }) => fn.countAll().as('count'))
    return Number((await all.executeTakeFirstOrThrow()).count)
  },
})
