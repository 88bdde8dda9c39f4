// BullMQ on any of its backends. Its groups are in its commercial edition.

import type { Classes } from '../sessions/bullmq.ts'
import type { Limited, LimitedJob } from './limited.ts'

export function bullmqLimited(
  backendAt: (place: string) => Promise<{ classes: Classes; connection: unknown; queueName: string }>,
): Limited {
  return {
    kinds: {
      concurrency: '`setGlobalConcurrency`; of the jobs in its active list',
      rate: '`limiter` of its Worker; in a window that begins with its first start, not in any interval',
    },
    async open(limit, place) {
      const { classes, connection, queueName } = await backendAt(place)
      const queue = new classes.Queue(queueName, { connection })
      await queue.waitUntilReady()
      if (limit.kind === 'concurrency') await queue.setGlobalConcurrency(limit.limit)
      const workers: { close(): Promise<void> }[] = []
      return {
        async add(jobs) {
          await queue.addBulk(jobs.map((data) => ({ name: 'job', data })))
        },
        async work(concurrency, handler) {
          const worker = new classes.Worker(queueName, ({ data }: { data: LimitedJob }) => handler(data), {
            connection,
            concurrency,
            ...(limit.kind === 'rate' && { limiter: { max: limit.limit, duration: limit.perMs } }),
          })
          workers.push(worker)
          worker.on('error', (error: Error) => console.error(error))
          await worker.waitUntilReady()
        },
        async close() {
          await Promise.all(workers.map((worker) => worker.close()))
          await queue.close()
        },
      }
    },
  }
}
