// @platformatic/job-queue on one of its storages. Its README names no option for speed but concurrency; without a
// logger its logging is a no-op; no Reaper.

import { handlerResult, type Session, type Settings } from '../contender.ts'
import { countCalls } from '../count-calls.ts'
import type { Payload } from '../load.ts'

export const platformaticDefaults =
  'Queue with its defaults, except concurrency; JSON serde; results kept 1 h; no logger, no Reaper'

/** Time limit for a result; a measurement that reaches it is invalid. Its default is 30 s. */
const longestWaitMs = 5_000

/** @param plain any of its storages */
export async function platformaticSession(plain: object, settings: Settings): Promise<Omit<Session, 'sweep'>> {
  const { Queue } = await import('@platformatic/job-queue')
  const { resultTtlMs, pollSeconds, leaseMs } = settings
  const { storage, calls } = settings.countCalls ? countCalls(plain) : { storage: plain, calls: {} }
  const config = {
    storage,
    resultTTL: resultTtlMs,
    blockTimeout: pollSeconds,
    visibilityTimeout: leaseMs,
  }
  const producer = new Queue(config)
  const queues = [producer]
  await producer.start()
  return {
    async add(id, payload) {
      const { status } = await producer.enqueue(id, payload)
      if (status !== 'queued') throw new Error(`${id} was not accepted: ${status}`)
    },
    request: (id, payload) => producer.enqueueAndWait(id, payload, { timeout: longestWaitMs }),
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
    calls: () => calls,
    close: async () => void (await Promise.all(queues.map((queue) => queue.stop()))),
  }
}
