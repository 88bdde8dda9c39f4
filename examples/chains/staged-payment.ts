// node --conditions=@holdfast/source examples/chains/staged-payment.ts
//
// A payment in three steps: reserve in a short transaction, charge the bank while no transaction is open, then book and continue with
// the parcel in another transaction. The bank is part of no transaction, and an attempt may be repeated: every attempt sends the same
// idempotency key, so the bank charges once.

import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { SqliteStorage } from 'holdfast/sqlite'

const storage = new SqliteStorage({ path: ':memory:' })
const jobTypeRegistry = defineJobTypes<{
  pay: { entry: true; input: { order: string }; continueWith: { typeName: 'ship' | 'apologise' } }
  ship: { input: { order: string; receipt: string }; output: string }
  apologise: { input: { order: string }; output: string }
}>()
const client = await createClient({ storage, jobTypeRegistry })
await storage.transaction(async ({ database }) => {
  database.exec('CREATE TABLE orders (id TEXT PRIMARY KEY, cents INTEGER NOT NULL, state TEXT NOT NULL)')
})

/** An external service that remembers idempotency keys. Its first answer is lost. */
const bank = {
  charges: new Map<string, number>(),
  asked: 0,
  async charge(key: string, cents: number): Promise<string | undefined> {
    this.asked++
    if (cents > 100_000) return undefined
    if (!this.charges.has(key)) this.charges.set(key, cents)
    if (this.asked === 1) throw new Error('the connection to the bank was lost')
    return `receipt ${this.charges.get(key)}`
  },
}

const worker = await createInProcessWorker({
  storage,
  jobTypeRegistry,
  backoff: { type: 'exponential', delayMs: 20 },
  jobTypeProcessors: {
    pay: {
      process: async ({ job, prepare, complete }) => {
        const { order } = job.input
        const cents = await prepare({ mode: 'staged' }, ({ tx: { database } }) => {
          // Committed when prepare resolves. The next attempt may run it again, so it must be idempotent.
          database.prepare(`UPDATE orders SET state = 'reserved' WHERE id = ?`).run(order)
          return database.prepare('SELECT cents FROM orders WHERE id = ?').get(order)!.cents as number
        })
        const receipt = await bank.charge(job.id, cents) // the id of the job is the same in every attempt
        return complete(({ tx, continueWith }) => {
          const state = receipt === undefined ? 'refused' : 'paid'
          tx.database.prepare('UPDATE orders SET state = ? WHERE id = ?').run(state, order)
          if (receipt === undefined) return continueWith({ typeName: 'apologise', input: { order } })
          return continueWith({ typeName: 'ship', input: { order, receipt } })
        })
      },
    },
    ship: {
      process: async ({ job, complete }) => complete(`${job.input.order} is on its way (${job.input.receipt})`),
    },
    apologise: { process: async ({ job, complete }) => complete(`${job.input.order} was too much for the bank`) },
  },
})
await worker.start()

const orders = { 'order-1': 4_200, 'order-2': 1_000_000 }
for (const [order, cents] of Object.entries(orders)) {
  const chain = await storage.transaction(async (tx) => {
    tx.database.prepare(`INSERT INTO orders VALUES (?, ?, 'new')`).run(order, cents)
    return client.startJobChain({ typeName: 'pay', input: { order }, tx })
  })
  console.log((await client.waitForJobChainCompletion(chain, { timeoutMs: 10_000 })).output)
}
await worker.stop()

await storage.transaction(async ({ database }) => {
  for (const { id, state } of database.prepare('SELECT * FROM orders ORDER BY id').all()) console.log(`${id}: ${state}`)
})
console.log(`the bank was asked ${bank.asked} times and charged ${bank.charges.size} time`)
await client.close()
