// A bench whose time stands until it is moved: one clock for the storage, the queues and the reapers on it.

import type { TestContext } from 'node:test'
import { MemoryStorage, Queue, type QueueConfig, Reaper, type ReaperConfig } from 'holdfast'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { type Faulty, faulty } from './faulty-storage.ts'

export interface ClockBench {
  readonly clock: FakeClock
  readonly storage: MemoryStorage
  /** The same storage; what goes over it can be counted, delayed and lost. */
  readonly line: Faulty<MemoryStorage>
  /** On the line. Retries at once, unless told otherwise. */
  queue<P = unknown, R = unknown>(config?: Partial<QueueConfig<P, R>>): Queue<P, R>
  reaper(config?: Partial<ReaperConfig>): Reaper
  /** Ms since the bench was made. */
  now(): number
  /** Moves on to that many ms after the bench was made. */
  to(ms: number): Promise<void>
}

export function clockBench(t: TestContext, seed = 1): ClockBench {
  const clock = fakeClock({ seed })
  const start = clock.now()
  const storage = new MemoryStorage({ clock })
  const line = faulty(storage)
  const users: { stop(options?: { timeout?: number }): Promise<void> }[] = []
  t.after(async () => {
    line.mend()
    const stopped = Promise.all(users.map((user) => user.stop({ timeout: 0 })))
    await clock.advance(20_000)
    await stopped
  })
  return {
    clock,
    storage,
    line,
    queue: (config) => {
      const queue = new Queue({ storage: line.storage, clock, backoff: 'none', ...config })
      users.push(queue)
      return queue
    },
    reaper: (config) => {
      const reaper = new Reaper({ storage: line.storage, clock, ...config })
      users.push(reaper)
      return reaper
    },
    now: () => clock.now() - start,
    to: (ms) => clock.advance(ms - (clock.now() - start)),
  }
}

/** What has become of a promise so far. */
export function fate<T>(promise: Promise<T>): {
  state: 'pending' | 'fulfilled' | 'rejected'
  value?: T
  error?: unknown
} {
  const seen: ReturnType<typeof fate<T>> = { state: 'pending' }
  promise.then(
    (value) => Object.assign(seen, { state: 'fulfilled', value }),
    (error: unknown) => Object.assign(seen, { state: 'rejected', error }),
  )
  return seen
}
