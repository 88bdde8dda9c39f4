// A job in any state that it can be in.

import type { Job, MessageState, Queue, QueueConfig } from 'holdfast'
import { storedType } from 'holdfast/storage'
import { type Bench, gate, next, until } from './driver.ts'

export interface InState {
  readonly queue: Queue<unknown, unknown>
  /** Ends the run of a job in processing. */
  readonly release: PromiseWithResolvers<unknown>
  /** The payloads that the handler saw. */
  readonly seen: unknown[]
}

/** The job 'x' with the payload 'first', in this state. A completed one has the result 'done'. */
export async function jobIn(
  { queue: newQueue, storage }: Bench,
  state: MessageState,
  config: Partial<QueueConfig<unknown, unknown>> = {},
): Promise<InState> {
  const release = gate<unknown>()
  const seen: unknown[] = []
  const handlers: Partial<Record<MessageState, (job: Job<unknown>) => unknown>> = {
    processing: () => release.promise,
    completed: () => 'done',
    failing: () => {
      throw new Error('not yet')
    },
    failed: () => {
      throw new Error('never')
    },
  }
  const handler = handlers[state]
  const queue = newQueue({ backoff: { type: 'fixed', delayMs: 600_000 }, ...config })
  if (handler) {
    queue.execute((job) => {
      seen.push(job.payload)
      return handler(job)
    })
  }
  await queue.start()
  if (state === 'blocked') {
    await addBlocked(storage, storedType('queue', queue.name))
    return { queue, release, seen }
  }
  const reached = state === 'completed' || state === 'failing' || state === 'failed' ? next(queue, state) : undefined
  await queue.enqueue('x', 'first', {
    delayMs: state === 'scheduled' ? 600_000 : undefined,
    maxAttempts: state === 'failed' ? 1 : undefined,
  })
  await reached
  if (state === 'cancelled') await queue.cancel('x')
  if (state === 'processing') await until(() => seen.length === 1)
  return { queue, release, seen }
}

async function addBlocked(storage: Bench['storage'], type: string): Promise<void> {
  const retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
  const payload = Buffer.from(JSON.stringify('first'))
  await storage.add([{ type, id: 'blocker', token: 'of the blocker', delayMs: 600_000, retention }])
  await storage.add([
    { type, id: 'x', token: 'of x', payload, maxAttempts: 3, blockers: [{ type, id: 'blocker' }], retention },
  ])
}
