// node --conditions=@holdfast/source examples/chains/rows-and-job.ts
//
// A sign-up: the row of the user and the job that welcomes them are written in one transaction, so neither exists without the other.
// The mark that a user was welcomed is written in the transaction that completes the job.

import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { SqliteStorage } from 'holdfast/sqlite'

const storage = new SqliteStorage({ path: ':memory:' }) // a file, in production
const jobTypeRegistry = defineJobTypes<{
  welcome: { entry: true; input: { name: string }; output: { welcomed: string } }
}>()
const client = await createClient({ storage, jobTypeRegistry })
await storage.transaction(async ({ database }) => {
  database.exec('CREATE TABLE users (name TEXT PRIMARY KEY, welcomed INTEGER NOT NULL DEFAULT 0)')
})

const signUp = (name: string) =>
  storage.transaction(async (tx) => {
    tx.database.prepare('INSERT INTO users (name) VALUES (?)').run(name)
    const chain = await client.startJobChain({ typeName: 'welcome', input: { name }, tx })
    // Both are written by now: the error rolls back both.
    if (name === 'root') throw new Error('that name is taken')
    return chain
  })

const worker = await createInProcessWorker({
  storage,
  jobTypeRegistry,
  backoff: { type: 'exponential', delayMs: 20 },
  jobTypeProcessors: {
    welcome: {
      process: async ({ job, complete }) => {
        const { name } = job.input
        const completion = await complete(({ tx }) => {
          tx.database.prepare('UPDATE users SET welcomed = welcomed + 1 WHERE name = ?').run(name)
          return { welcomed: name }
        })
        // Nothing is committed before the handler resolves: this error rolls back the update above.
        if (name === 'grace' && job.attempt === 1) throw new Error('the machine stumbles')
        return completion
      },
    },
  },
})
await worker.start()

for (const name of ['ada', 'root', 'grace']) {
  try {
    const { output } = await client.waitForJobChainCompletion(await signUp(name), { timeoutMs: 10_000 })
    console.log(`${output.welcomed} is welcome`)
  } catch (error) {
    console.log(`${name}: ${(error as Error).message}`)
  }
}
await worker.stop()

await storage.transaction(async ({ database }) => {
  for (const { name, welcomed } of database.prepare('SELECT * FROM users ORDER BY name').all()) {
    console.log(`in the table: ${name}, welcomed ${welcomed} time`)
  }
})
console.log(`chains: ${(await client.listJobChains()).items.length}`)
await client.close()
