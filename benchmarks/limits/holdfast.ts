import { Queue, type LimitsOptions, type Storage } from 'holdfast'
import type { Limit, Limited, LimitedJob } from './limited.ts'

export function holdfastLimited(openStorage: (place: string) => Promise<Storage>): Limited {
  return {
    kinds: {
      concurrency: '`limits.concurrency`; never exceeded',
      groups: '`limits.group.limit`; never exceeded',
      rate: '`limits.rate`; in any interval',
    },
    async open(limit, place) {
      const storage = await openStorage(place)
      const limits = optionOf(limit)
      const producer = new Queue<LimitedJob, void>({ storage, limits })
      await producer.start()
      const queues = [producer]
      return {
        async add(jobs) {
          await producer.enqueueMany(
            jobs.map((job) => ({
              id: `job-${job.n}`,
              payload: job,
              ...(limit.kind === 'groups' && { group: job.group }),
            })),
          )
        },
        async work(concurrency, handler) {
          const queue = new Queue<LimitedJob, void>({ storage, limits, concurrency })
          queues.push(queue)
          queue.execute(({ payload }) => handler(payload))
          await queue.start()
        },
        close: async () => void (await Promise.all(queues.map((queue) => queue.stop()))),
      }
    },
  }
}

function optionOf(limit: Limit): LimitsOptions {
  if (limit.kind === 'concurrency') return { concurrency: limit.limit }
  if (limit.kind === 'groups') return { group: { limit: 1 } }
  return { rate: { limit: limit.limit, perMs: limit.perMs } }
}
