// Holdfast on any storage.

import { Queue, type Storage } from 'holdfast'
import { handlerResult, type Session, type Settings } from '../contender.ts'
import { countCalls } from '../count-calls.ts'
import type { Payload } from '../load.ts'

export const holdfastDefaults = 'Queue with its defaults, except concurrency; JSON serde; results kept 1 h'

export async function holdfastSession(plain: Storage, settings: Settings): Promise<Session> {
  const { resultTtlMs, pollSeconds, leaseMs } = settings
  const { storage, calls } = settings.countCalls ? countCalls(plain) : { storage: plain, calls: {} }
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
}
