// node --conditions=@holdfast/source examples/chains/staged-payment.ts
//
// A payment in three steps: reserve in a short transaction, ask the bank with no transaction open, then book, and go on to the
// parcel, in another one. The bank is not part of any transaction, and a run may be repeated: what it is asked is asked under a
// key that stays the same, so that it charges once.

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

/** Somebody else's: it keeps the keys that it has seen. Its first answer is lost on the way. */
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
  jobTypeProcessing: { defaultRetryConfig: { initialDelayMs: 20 } },
  jobTypeProcessors: {
    pay: {
      process: async ({ job, prepare, complete }) => {
        const { order } = job.input
        const cents = await prepare({ mode: 'staged' }, ({ tx: { database } }) => {
          // Committed when prepare resolves. It may come again with the next attempt: so it must be the same done twice.
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
const stop = await worker.start()

const orders = { 'order-1': 4_200, 'order-2': 1_000_000 }
for (const [order, cents] of Object.entries(orders)) {
  const chain = await storage.transaction(async (tx) => {
    tx.database.prepare(`INSERT INTO orders VALUES (?, ?, 'new')`).run(order, cents)
    return client.startJobChain({ typeName: 'pay', input: { order }, tx })
  })
  console.log((await client.waitForJobChainCompletion(chain, { timeoutMs: 10_000 })).output)
}
await stop()

await storage.transaction(async ({ database }) => {
  for (const { id, state } of database.prepare('SELECT * FROM orders ORDER BY id').all()) console.log(`${id}: ${state}`)
})
console.log(`the bank was asked ${bank.asked} times and charged ${bank.charges.size} time`)
await client.close()
