// With pg: the client that has the transaction open is the `tx`.

import { checkCredit, enqueueSteps } from './order.ts'
import type { Placing } from './shop.ts'

export const placeWithPg: Placing = (pool, queues) => async (order) => {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('INSERT INTO orders VALUES ($1, $2, $3)', [order.id, order.customer, order.cents])
    await enqueueSteps(queues, order, client)
    checkCredit(order)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}
