// node --conditions=@holdfast/source examples/chains/webhook.ts
//
// A transfer that a bank confirms by a webhook. The chain waits at a job that is due in three days: either the webhook completes it
// before that, without a worker, or a worker runs it after the time limit.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isHoldfastError } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { SqliteStorage } from 'holdfast/sqlite'

const storage = new SqliteStorage({ path: ':memory:' })
const jobTypeRegistry = defineJobTypes<{
  transfer: { entry: true; input: { cents: number }; continueWith: { typeName: 'confirmation' } }
  confirmation: { input: { cents: number }; continueWith: { typeName: 'notice' } }
  notice: { input: { text: string }; output: string }
}>()
const client = await createClient({ storage, jobTypeRegistry })
const waitsForTheBank = Promise.withResolvers<void>()

const worker = await createInProcessWorker({
  storage,
  jobTypeRegistry,
  observer: { jobCreated: ({ typeName }) => typeName === 'confirmation' && waitsForTheBank.resolve() },
  jobTypeProcessors: {
    transfer: {
      process: async ({ job, complete }) =>
        complete(({ continueWith }) =>
          continueWith({ typeName: 'confirmation', input: job.input, delayMs: 3 * 86_400_000 }),
        ),
    },
    confirmation: {
      process: async ({ complete }) =>
        complete(({ continueWith }) =>
          continueWith({ typeName: 'notice', input: { text: 'the bank never answered' } }),
        ),
    },
    notice: { process: async ({ job, complete }) => complete(job.input.text) },
  },
})
await worker.start()

/** True if this call confirmed the transfer. */
async function confirm(id: string): Promise<boolean> {
  let confirmed = false
  await client.completeJobChain({
    typeName: 'transfer',
    id,
    complete: async ({ job, complete }) => {
      // The last job of the chain, locked. If it is no confirmation, the call is too early or a repeat.
      if (job.typeName !== 'confirmation') return
      const { cents } = job.input
      await complete(job, ({ continueWith }) =>
        continueWith({ typeName: 'notice', input: { text: `${cents / 100} were transferred` } }),
      )
      confirmed = true
    },
  })
  return confirmed
}

const server = createServer(async (request, response) => {
  try {
    response.statusCode = (await confirm(request.url!.slice('/confirmed/'.length))) ? 200 : 409
  } catch (error) {
    response.statusCode = isHoldfastError(error, 'CHAIN_NOT_FOUND') ? 404 : 500
  }
  response.end()
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo
const call = async (id: string): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}/confirmed/${id}`, { method: 'POST' })).status

const transfer = await client.startJobChain({ typeName: 'transfer', input: { cents: 12_500 } })
await waitsForTheBank.promise
console.log(`the transfer is ${(await client.getJobChain(transfer))!.state}: it waits for the bank`)
console.log(`an unknown transfer: ${await call('unknown')}`)
console.log(`the bank calls: ${await call(transfer.id)}`)
console.log((await client.waitForJobChainCompletion(transfer, { timeoutMs: 10_000 })).output)
console.log(`the bank calls again: ${await call(transfer.id)}`)
server.close()
server.closeAllConnections()
await worker.stop()
await client.close()
