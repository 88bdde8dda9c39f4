// groupmq with its defaults, or with its own batching of adds. A group runs one job at a time, and a worker continues with the next
// job of the same group: the number of groups equals the highest concurrency, so that all slots are used.

import type { Contender } from '../contender.ts'
import { handlerResult } from '../contender.ts'
import { groupmqLimited } from '../limits/groupmq.ts'
import type { Payload } from '../load.ts'
import { queueName, redisAt, redisServer, redisUnavailable } from './redis.ts'

const groups = 100

/** Keeps all jobs: it has no retention by age. */
const keepAll = 10_000_000

export function groupmq(name: string, autoBatch: boolean): Contender {
  return {
    name,
    driver: 'redis',
    package: 'groupmq',
    isPeer: true,
    isShared: true,
    configuration:
      `ioredis 5, ${redisServer}; ${autoBatch ? 'autoBatch, which its docs advise for throughput' : 'no autoBatch'}; jobs in ` +
      `${groups} groups in turn; orderingMethod none; ids by groupmq; done jobs kept forever, it has no retention by age`,
    unavailable: redisUnavailable,
    // Once: the batching changes the speed of adds, not the limit.
    ...(!autoBatch && { limited: groupmqLimited }),

    async setup({ resultTtlMs, pollSeconds, leaseMs }, place) {
      const { url, observed } = await redisAt(place)
      const { Redis } = await import('ioredis')
      const { Queue, Worker } = await import('groupmq')
      const queues: { close(): Promise<void> }[] = []
      const workers: { close(): Promise<void> }[] = []
      const open = () => {
        const queue = new Queue({
          redis: new Redis(url),
          namespace: queueName,
          jobTimeoutMs: leaseMs,
          // Keep all jobs, or none if they are not to be kept.
          keepCompleted: resultTtlMs <= 1 ? 0 : keepAll,
          autoBatch,
        })
        queues.push(queue)
        return queue
      }
      const producer = open()
      return {
        async add(_, payload) {
          await producer.add({ groupId: `group-${payload.n % groups}`, data: payload })
        },
        async consume(concurrency, { onStart, onCompleted }) {
          const worker = new Worker({
            queue: open(),
            concurrency,
            blockingTimeoutSec: pollSeconds,
            stalledInterval: leaseMs,
            async handler({ data }: { data: Payload }) {
              onStart(data)
              return handlerResult
            },
          })
          workers.push(worker)
          worker.on('completed', onCompleted)
          worker.on('error', (error: Error) => console.error(error))
        },
        // Nothing expires.
        async sweep() {},
        ...observed,
        async close() {
          await Promise.all(workers.map((worker) => worker.close()))
          await Promise.all(queues.map((queue) => queue.close()))
        },
      }
    },
  }
}
