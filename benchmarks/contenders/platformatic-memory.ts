import { setTimeout as sleep } from 'node:timers/promises'
import { type Contender, handlerResult } from '../contender.ts'
import { countCalls } from '../count-calls.ts'
import type { Payload } from '../load.ts'

/** How often its storage deletes what has expired, and a little more. */
const cleanupMs = 1_200

export const contender: Contender = {
  name: '@platformatic/job-queue',
  driver: 'memory',
  package: '@platformatic/job-queue',
  isPeer: true,
  // Its README names no option for speed besides concurrency; without a logger its logging is a no-op; no Reaper.
  isShared: false,
  configuration:
    'MemoryStorage; Queue with its defaults, besides concurrency; JSON serde; results kept 1 h; no logger, no Reaper',

  async setup({ resultTtlMs, pollSeconds, leaseMs, countCalls: counts }) {
    const { MemoryStorage, Queue } = await import('@platformatic/job-queue')
    const counted = counts ? countCalls(new MemoryStorage()) : { storage: new MemoryStorage(), calls: {} }
    const { storage, calls } = counted
    const config = { storage, resultTTL: resultTtlMs, blockTimeout: pollSeconds, visibilityTimeout: leaseMs }
    const producer = new Queue(config)
    const queues = [producer]
    await producer.start()
    return {
      async add(id, payload) {
        const { status } = await producer.enqueue(id, payload)
        if (status !== 'queued') throw new Error(`${id} was not accepted: ${status}`)
      },
      request: (id, payload) => producer.enqueueAndWait(id, payload),
      async consume(concurrency, { onStart, onCompleted }) {
        const queue = new Queue({ ...config, concurrency })
        queues.push(queue)
        queue.execute(async (job: { payload: Payload }) => {
          onStart(job.payload)
          return handlerResult
        })
        queue.on('completed', onCompleted)
        await queue.start()
      },
      sweep: () => sleep(cleanupMs),
      calls: () => calls,
      close: async () => void (await Promise.all(queues.map((queue) => queue.stop()))),
    }
  },
}
