// The faces that run jobs, behind one signature: for what must be the same on each of them. One type, one handler, a clock that the
// test moves.

import type { TestContext } from 'node:test'
import { type Backoff, type ErrorAnswer, MemoryStorage, Queue } from 'holdfast'
import { createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import type { JobRecord, NewJob } from 'holdfast/storage'
import { createTasks, StorageMessageQueue } from 'holdfast/tasks'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { anything } from '../../tasks/fakes.ts'

export interface FaceOptions {
  readonly timeoutMs?: number | undefined
  readonly maxAttempts?: number
  readonly maxSnoozes?: number
  readonly backoff?: Backoff
  readonly onError?: (error: unknown) => ErrorAnswer | Promise<ErrorAnswer>
}

/** Returns a directive, or anything else for a result. */
export type FaceHandler = (run: { readonly signal: AbortSignal; readonly attempt: number }) => unknown

interface Served {
  readonly type: string
  /** Bytes of a payload that its handler can read. */
  readonly payload: Uint8Array
  stop(): Promise<void>
}

type Serve = (
  given: { readonly storage: MemoryStorage; readonly clock: FakeClock },
  options: FaceOptions,
  handler: FaceHandler,
) => Promise<Served>

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

const serves = {
  async queue(given, { onError, ...options }, handler) {
    const own = onError && { onError: (error: unknown) => onError(error) }
    const queue = new Queue<unknown, unknown>({ ...given, ...options, ...own, leaseMs: 10_000, logger: {} })
    queue.execute(({ signal, attempts }) => handler({ signal, attempt: attempts }))
    await queue.start()
    return { type: 'queue.default', payload: json(null), stop: () => queue.stop({ graceMs: 0 }) }
  },
  async chains(given, { onError, ...options }, handler) {
    const jobTypeRegistry = defineJobTypes<{ step: { entry: true; input: null; output: null } }>()
    const worker = await createInProcessWorker({
      ...given,
      ...options,
      leaseMs: 10_000,
      jobTypeRegistry,
      jobTypeProcessors: {
        step: {
          ...(onError && { onError: (error: unknown) => onError(error) }),
          process: async ({ signal, job, complete }) => {
            const returned = await handler({ signal, attempt: job.failures + 1 })
            return returned instanceof Error ? (returned as never) : complete(null)
          },
        },
      },
    })
    await worker.start()
    return { type: 'chain.step', payload: json(null), stop: () => worker.stop({ graceMs: 0, deadlineMs: 0 }) }
  },
  async tasks({ storage, clock }, { maxSnoozes = Infinity, onError, ...options }, handler) {
    const queue = new StorageMessageQueue(storage, { clock, maxSnoozes, leaseMs: 10_000, logger: {} })
    const tasks = createTasks({ ...options, queue, clock, logger: {} })
    tasks.defineTask('t', {
      schema: anything(),
      handler: ({ signal, attempt }) => handler({ signal, attempt }) as void,
      ...(onError && { onError: (_context, error) => onError(error) }),
    })
    await tasks.start()
    const payload = json({ v: 1, type: 'holdfast.task', id: 'a', task: 't', data: 'null', enqueuedAt: 0, attempt: 1 })
    const stop = async (): Promise<void> => {
      await tasks.stop({ graceMs: 0 })
      await queue.close()
    }
    return { type: 'task.default', payload, stop }
  },
} satisfies Record<string, Serve>

export type FaceName = keyof typeof serves
export const faceNames = Object.keys(serves) as FaceName[]

/** Starts a face. Its one job has the id 'a', and is added by add(). */
export async function faceBench(t: TestContext, face: FaceName, options: FaceOptions, handler: FaceHandler) {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const { type, payload, stop } = await serves[face]({ storage, clock }, options, handler)
  t.after(async () => {
    const stopped = stop()
    await clock.advance(20_000)
    await stopped
  })
  const retention = { completedMs: 3_600_000, failedMs: 3_600_000, cancelledMs: 3_600_000 }
  return {
    clock,
    storage,
    type,
    async add(given: Partial<NewJob> = {}): Promise<void> {
      await storage.add([{ type, id: 'a', token: 't', payload, retention, ...given }])
      await clock.settle()
    },
    async record(): Promise<JobRecord> {
      const [record] = await storage.get([{ type, id: 'a' }], { parts: ['error', 'attempts'] })
      return record!
    },
    async error(): Promise<{ message: string; code?: string; cause?: { message: string } }> {
      const [record] = await storage.get([{ type, id: 'a' }], { parts: ['error'] })
      return JSON.parse(Buffer.from(record!.error!).toString()) as never
    },
  }
}
