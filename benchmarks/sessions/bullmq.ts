// BullMQ on any of its backends.

import { handlerResult, type Session, type Settings } from '../contender.ts'
import type { Payload } from '../load.ts'

/** BullMQ's classes, or those bound to a backend; untyped, as all peers are here. */
export type Classes = {
  readonly [name in 'Queue' | 'QueueEvents' | 'Worker']: new (...args: unknown[]) => any
}

/** Time limit for a result; a measurement that reaches it is invalid. */
const longestWaitMs = 5_000

export const bullmqDefaults =
  'one Worker with local concurrency, a connection for each Queue and Worker; ids by BullMQ; addBulk in thousands; ' +
  'removeOnComplete by age, 1 h; requests by waitUntilFinished with QueueEvents'

export async function bullmqSession(
  { Queue, QueueEvents, Worker }: Classes,
  connection: unknown,
  queueName: string,
  { resultTtlMs, pollSeconds, leaseMs }: Settings,
): Promise<Omit<Session, 'calls' | 'storedBytes'>> {
  const queue = new Queue(queueName, { connection })
  await queue.waitUntilReady()
  const open: { close(): Promise<void> }[] = []
  // Listen only for requests.
  let events: Promise<InstanceType<typeof QueueEvents>> | undefined
  const listen = async () => {
    const found = new QueueEvents(queueName, { connection })
    open.push(found)
    // One listener per request in flight.
    found.setMaxListeners(0)
    queue.setMaxListeners(0)
    await found.waitUntilReady()
    return found
  }
  return {
    async add(_, payload) {
      await queue.add('job', payload)
    },
    async addMany(jobs) {
      await queue.addBulk(jobs.map(({ payload }) => ({ name: 'job', data: payload })))
    },
    async request(_, payload) {
      const listening = await (events ??= listen())
      return (await queue.add('job', payload)).waitUntilFinished(listening, longestWaitMs)
    },
    async consume(concurrency, { onStart, onCompleted }) {
      const handler = async ({ data }: { data: Payload }): Promise<boolean> => {
        onStart(data)
        return handlerResult
      }
      const worker = new Worker(queueName, handler, {
        connection,
        concurrency,
        lockDuration: leaseMs,
        stalledInterval: leaseMs,
        drainDelay: pollSeconds,
        // Whole seconds: shorter retention is done by the sweep.
        removeOnComplete: { age: Math.ceil(resultTtlMs / 1_000) },
      })
      open.push(worker)
      worker.on('completed', onCompleted)
      worker.on('error', (error: Error) => console.error(error))
      await worker.waitUntilReady()
    },
    sweep: async () => void (await queue.clean(resultTtlMs, 0, 'completed')),
    async close() {
      await Promise.all(open.map((part) => part.close()))
      await queue.close()
    },
  }
}
