import { queueName, redisAt } from '../sessions/redis.ts'
import type { Limited, LimitedJob } from './limited.ts'

export const groupmqLimited: Limited = {
  kinds: { groups: 'always so; in order' },
  async open(_, place) {
    const { url } = await redisAt(place)
    const { Redis } = await import('ioredis')
    const { Queue, Worker } = await import('groupmq')
    const open = () => new Queue({ redis: new Redis(url), namespace: queueName, keepCompleted: 0 })
    const producer = open()
    const parts: { close(): Promise<void> }[] = [producer]
    return {
      async add(jobs) {
        await Promise.all(jobs.map((data) => producer.add({ groupId: data.group, data })))
      },
      async work(concurrency, handler) {
        const queue = open()
        const worker = new Worker({
          queue,
          concurrency,
          handler: ({ data }: { data: LimitedJob }) => handler(data),
        })
        worker.on('error', (error: Error) => console.error(error))
        // The worker needs its queue while it closes.
        parts.unshift(worker, queue)
        void worker.run()
      },
      async close() {
        for (const part of parts) await part.close()
      },
    }
  },
}
