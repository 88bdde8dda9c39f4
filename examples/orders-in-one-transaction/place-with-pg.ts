// With pg: the client that has the transaction open is what the jobs are added with.

import { checkCredit, jobsOf } from './order.ts'
import type { Placing } from './shop.ts'

export const placeWithPg: Placing = (pool, storage) => async (order) => {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('INSERT INTO orders VALUES ($1, $2, $3)', [order.id, order.customer, order.cents])
    await storage.add(jobsOf(order), client)
    checkCredit(order)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}
