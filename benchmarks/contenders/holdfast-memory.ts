import { MemoryStorage, Queue } from 'holdfast'
import { type Contender, handlerResult } from '../contender.ts'
import { countCalls } from '../count-calls.ts'
import type { Payload } from '../load.ts'

export const contender: Contender = {
  name: 'holdfast',
  driver: 'memory',
  package: 'holdfast',
  isPeer: false,
  isShared: false,
  configuration: 'MemoryStorage; Queue with its defaults, besides concurrency; JSON serde; results kept 1 h',

  async setup({ resultTtlMs, pollSeconds, leaseMs, countCalls: counts }) {
    const counted = counts ? countCalls(new MemoryStorage()) : { storage: new MemoryStorage(), calls: {} }
    const { storage, calls } = counted
    const config = { storage, resultTTL: resultTtlMs, blockTimeout: pollSeconds, leaseMs, visibilityTimeout: leaseMs }
    const producer = new Queue<Payload, boolean>(config)
    const queues = [producer]
    await producer.start()
    return {
      async add(id, payload) {
        const { status } = await producer.enqueue(id, payload)
        if (status !== 'queued') throw new Error(`${id} was not accepted: ${status}`)
      },
      request: (id, payload) => producer.enqueueAndWait(id, payload),
      async consume(concurrency, { onStart, onCompleted }) {
        const queue = new Queue<Payload, boolean>({ ...config, concurrency })
        queues.push(queue)
        queue.execute(async (job) => {
          onStart(job.payload)
          return handlerResult
        })
        queue.on('completed', onCompleted)
        await queue.start()
      },
      async sweep() {
        while ((await storage.sweep({ limit: 1_000 })).more);
      },
      calls: () => calls,
      close: async () => void (await Promise.all(queues.map((queue) => queue.stop({ timeout: 0 })))),
    }
  },

  openStorage: async () => new MemoryStorage(),
}
