// Chains for the sample: an order that is packed and charged before it is shipped, with one part that has failed and one that waits.

import { UnrecoverableError, type Storage } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'

const types = defineJobTypes<{
  'reserve-stock': { entry: true; input: { sku: string }; continueWith: { typeName: 'pack' } }
  pack: { input: { sku: string }; output: null }
  'charge-card': { entry: true; input: { cents: number }; output: null }
  'check-address': { entry: true; input: { city: string }; output: null }
  ship: {
    entry: true
    input: { order: string }
    continueWith: { typeName: 'notify' }
    blockers: [
      { typeName: 'reserve-stock' },
      { typeName: 'reserve-stock' },
      { typeName: 'charge-card' },
      { typeName: 'check-address' },
    ]
  }
  notify: { input: { order: string }; output: null }
}>()

/** @returns the id of the job that is blocked */
export async function openOrders(storage: Storage): Promise<{ readonly id: string; close(): Promise<void> }> {
  const client = await createClient({ storage, jobTypeRegistry: types })
  const worker = await createInProcessWorker({
    storage,
    jobTypeRegistry: types,
    workerId: 'orders-1',
    // No worker serves `check-address`: the order waits for it.
    jobTypeProcessors: {
      'reserve-stock': {
        process: async ({ job, complete }) =>
          complete(async ({ continueWith }) => continueWith({ typeName: 'pack', input: job.input })),
      },
      pack: { process: async ({ complete }) => complete(null) },
      'charge-card': {
        retryConfig: { maxAttempts: 1 },
        process: async () => {
          throw new UnrecoverableError('card declined')
        },
      },
    },
  })
  const stop = await worker.start()
  const { id } = await client.startJobChain({
    typeName: 'ship',
    input: { order: 'order-1042' },
    onBlockerFailure: 'wait',
    startBlockers: async ({ startJobChain }) => [
      await startJobChain({ typeName: 'reserve-stock', input: { sku: 'anchor-7' } }),
      await startJobChain({ typeName: 'reserve-stock', input: { sku: 'rope-12' } }),
      await startJobChain({ typeName: 'charge-card', input: { cents: 4_200 } }),
      await startJobChain({ typeName: 'check-address', input: { city: 'Bergen' } }),
    ],
  })
  for (;;) {
    const { types: counts } = await storage.count({ types: ['chain.pack', 'chain.charge-card'] })
    if (counts.reduce((sum, { states }) => sum + states.completed + states.failed, 0) === 3) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    id,
    async close() {
      await stop()
      await client.close()
    },
  }
}
