// What the Queue's tests need of a driver. Each test file exports its tests as a function of one of these, so that every
// driver runs the same ones; `<driver>.test.ts` beside this file names the driver.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type MessageState, Queue, type QueueConfig, type QueueEvents, type Storage } from 'holdfast'

export interface TestDriver {
  readonly name: string
  /** Its storage has transactions. */
  readonly transactions?: boolean
  /** An empty storage of its own. */
  open(): Promise<{ readonly storage: Storage; close(): Promise<void> }>
}

/** A storage that is closed after the test, and queues on it that are stopped before that. */
export async function bench(t: TestContext, driver: TestDriver): Promise<Bench> {
  const { storage, close } = await driver.open()
  const queues: Queue<never, never>[] = []
  t.after(async () => {
    await Promise.all(queues.map((queue) => queue.stop({ timeout: 0 })))
    await close()
  })
  return {
    storage,
    queue: <P = unknown, R = unknown>(config: Partial<QueueConfig<P, R>> = {}) => {
      const queue = new Queue<P, R>({ storage, backoff: 'none', blockTimeout: 0.2, ...config })
      queues.push(queue as unknown as Queue<never, never>)
      return queue
    },
  }
}

export interface Bench {
  readonly storage: Storage
  /** Retries at once and polls often, unless told otherwise. */
  queue<P = unknown, R = unknown>(config?: Partial<QueueConfig<P, R>>): Queue<P, R>
}

/** How many jobs were added, or found to be there, through this storage from now on. For queues that are made after it. */
export function countAdds(storage: Storage): () => number {
  let added = 0
  const add = storage.add.bind(storage)
  storage.add = async (jobs, tx) => {
    const verdicts = await add(jobs, tx)
    added += jobs.length
    return verdicts
  }
  return () => added
}

/** The arguments of the next such event (that fits). */
export async function next<P, R, K extends keyof QueueEvents<R>>(
  queue: Queue<P, R>,
  event: K,
  fits: (...args: QueueEvents<R>[K]) => boolean = () => true,
): Promise<QueueEvents<R>[K]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no '${event}' event within 30 s`)), 30_000)
    const listener = (...args: unknown[]): void => {
      if (!fits(...(args as QueueEvents<R>[K]))) return
      clearTimeout(timer)
      queue.off(event, listener as never)
      resolve(args as QueueEvents<R>[K])
    }
    queue.on(event, listener as never)
  })
}

/** Waits until it is true; fails after 30 s, or the time given. Looks every 2 ms at first, and less often in a longer wait. */
export async function until(condition: () => boolean | Promise<boolean>, what = 'it', ms = 30_000): Promise<void> {
  const deadline = performance.now() + ms
  for (let look = 0; !(await condition()); look++) {
    assert.ok(performance.now() < deadline, `${what} did not come true within ${ms} ms`)
    await sleep(look < 50 ? 2 : 10)
  }
}

/** For what must not happen, and for handlers that take their time. Never to wait for what should. */
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A promise to be settled by hand. */
export function gate<T = void>(): PromiseWithResolvers<T> {
  return Promise.withResolvers<T>()
}

/** The answer to an enqueue whose id is taken. */
export const duplicate = (id: string, state: MessageState) =>
  ({ status: 'duplicate', id, state, existingState: state }) as const
