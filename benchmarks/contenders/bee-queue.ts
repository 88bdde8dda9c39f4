import type { Contender } from '../contender.ts'
import { handlerResult } from '../contender.ts'
import type { Payload } from '../load.ts'
import { queueName, redisAt, redisServer, redisUnavailable } from '../sessions/redis.ts'

export const contender: Contender = {
  name: 'bee-queue',
  driver: 'redis',
  package: 'bee-queue',
  isPeer: true,
  isShared: true,
  configuration:
    `${redisServer}; isWorker, getEvents and storeJobs only where needed, as its README advises; sendEvents, which is the only ` +
    'way to a result; ids by bee-queue, except for requests; saveAll in thousands; done jobs kept forever, it has no retention by age; stalled jobs ' +
    'checked once per lease',
  unavailable: redisUnavailable,

  async setup({ resultTtlMs, leaseMs }, place) {
    const { url, observed } = await redisAt(place)
    const { default: Queue } = await import('bee-queue')
    let isClosing = false
    const queues: { close(): Promise<void> }[] = []
    const open = async (settings: { isWorker?: boolean; getEvents?: boolean; removeOnSuccess?: boolean }) => {
      const queue = new Queue(queueName, {
        redis: url,
        stallInterval: leaseMs,
        isWorker: false,
        getEvents: false,
        storeJobs: false,
        ...settings,
      })
      queues.push(queue)
      queue.on('error', (error: Error) => {
        if (!isClosing) throw error
      })
      return queue.ready()
    }
    const producer = await open({})
    const waiting = new Map<string, (result: unknown) => void>()
    // Listen only for requests. The event of the job itself is not used: it is missed if the job ends before save() returns.
    let asking: ReturnType<typeof open> | undefined
    const listen = async () => {
      const queue = await open({ getEvents: true })
      queue.on('job succeeded', (id: string, result: unknown) => {
        waiting.get(id)?.(result)
        waiting.delete(id)
      })
      return queue
    }
    return {
      async add(_, payload) {
        await producer.createJob(payload).save()
      },
      async addMany(jobs) {
        const errors = await producer.saveAll(jobs.map(({ payload }) => producer.createJob(payload)))
        if (errors.size > 0) throw errors.values().next().value
      },
      async request(id, payload) {
        const queue = await (asking ??= listen())
        const result = new Promise<unknown>((resolve) => waiting.set(id, resolve))
        await queue.createJob(payload).setId(id).save()
        return result
      },
      async consume(concurrency, { onStart, onCompleted }) {
        // Keep all jobs, or none if they are not to be kept.
        const queue = await open({ isWorker: true, removeOnSuccess: resultTtlMs <= 1 })
        queue.on('succeeded', onCompleted)
        queue.process(concurrency, async ({ data }: { data: Payload }) => {
          onStart(data)
          return handlerResult
        })
        await queue.checkStalledJobs(leaseMs)
      },
      // Nothing expires.
      async sweep() {},
      ...observed,
      async close() {
        isClosing = true
        await Promise.all(queues.map((queue) => queue.close()))
      },
    }
  },
}
