// How many statements chain calls take in a transaction, on Postgres. Counted, never timed.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import type { PostgresTransaction } from 'holdfast/postgres'
import {
  type Client,
  createClient,
  createInProcessWorker,
  defineJobTypes,
  type JobTypeProcessor,
  type JobTypeProcessors,
} from 'holdfast/chains'
import { stopPostgres } from '../postgres-subject.ts'
import { countedStorage } from '../storage/postgres/counted-storage.ts'
import { wait } from './bench.ts'

after(stopPostgres)

interface Types {
  order: { entry: true; input: number; output: number; continueWith: { typeName: 'bill' } }
  bill: { input: number; output: number }
  mail: { entry: true; input: number; output: number }
}
const types = defineJobTypes<Types>()

async function bench(t: TestContext) {
  const counted = await countedStorage()
  const { storage, pool } = counted
  await pool.query('CREATE TABLE IF NOT EXISTS orders (id integer)')
  const client = await createClient<Types, unknown>({ storage, jobTypeRegistry: types })
  t.after(async () => {
    await client.close()
    await counted.close()
  })
  // The types have their numbers before anything is counted.
  await client.startJobChain({ typeName: 'mail', input: 0 })
  return { ...counted, client }
}

const ofUser = 'UPDATE orders'
const changeOrders = async (tx: unknown): Promise<void> =>
  void (await (tx as PostgresTransaction).query(`${ofUser} SET id = id`))

test('a start in a transaction of the storage is one statement', async (t) => {
  const { storage, client, count } = await bench(t)
  const statements = await count(() =>
    storage.transaction(async (tx) => {
      await client.startJobChain({ typeName: 'mail', input: 1, tx })
    }),
  )
  // With BEGIN and COMMIT.
  assert.equal(statements, 3)
})

test('starts in a transaction of the user are one statement each, however many chains they start', async (t) => {
  const { client, count, pool } = await bench(t)
  const tx = await pool.connect()
  await tx.query('BEGIN')
  const one = await count(() => client.startJobChain({ typeName: 'mail', input: 1, tx }))
  const items = Array.from({ length: 100 }, (_, input) => ({ typeName: 'mail', input }) as const)
  const hundred = await count(() => client.startJobChains({ items, tx }))
  await tx.query('COMMIT')
  tx.release()
  assert.deepEqual([one, hundred], [1, 1])
  assert.equal((await client.listJobChains({ filter: { typeName: ['mail'] }, limit: 200 })).items.length, 102)
})

/** The statements of the transaction in which the first job of a chain completes. */
async function completion(
  t: TestContext,
  processorsOf: (client: Client<Types, unknown>) => JobTypeProcessors<Types, unknown>,
): Promise<readonly string[]> {
  const { storage, client, transactions } = await bench(t)
  const worker = await createInProcessWorker<Types, unknown>({
    storage,
    jobTypeRegistry: types,
    jobTypeProcessors: processorsOf(client),
  })
  const stop = await worker.start()
  t.after(() => stop())
  const chain = await client.startJobChain({ typeName: 'order', input: 1 })
  await client.waitForJobChainCompletion(chain, wait)
  return transactions.find((statements) => statements.includes(ofUser))!
}

const bill: JobTypeProcessor<Types, 'bill', unknown> = { process: async ({ job, complete }) => complete(job.input) }

test('complete(callback) takes five statements, with BEGIN, COMMIT and the user’s own', async (t) => {
  const statements = await completion(t, () => ({
    order: {
      process: ({ complete }) =>
        complete(async ({ tx }) => {
          await changeOrders(tx)
          return 1
        }),
    },
  }))
  assert.deepEqual(statements, ['BEGIN ISOLATION', 'WITH base', ofUser, 'WITH changed', 'COMMIT'])
})

test('complete(callback) that starts a chain takes one statement more', async (t) => {
  const statements = await completion(t, (client) => ({
    order: {
      process: ({ complete }) =>
        complete(async ({ tx }) => {
          await changeOrders(tx)
          await client.startJobChain({ typeName: 'mail', input: 2, tx })
          return 1
        }),
    },
  }))
  assert.deepEqual(statements, ['BEGIN ISOLATION', 'WITH base', ofUser, 'WITH clock', 'WITH changed', 'COMMIT'])
})

test('complete(callback) that continues its chain takes one statement more', async (t) => {
  const statements = await completion(t, () => ({
    order: {
      process: ({ complete }) =>
        complete(async ({ tx, continueWith }) => {
          await changeOrders(tx)
          return continueWith({ typeName: 'bill', input: 2 })
        }),
    },
    bill,
  }))
  assert.deepEqual(statements, ['BEGIN ISOLATION', 'WITH base', ofUser, 'WITH taken', 'WITH changed', 'COMMIT'])
})
