// The setup of a test of chains on memory with one fake clock for the storage, the clients and the workers.

import type { TestContext } from 'node:test'
import { MemoryStorage } from 'holdfast'
import {
  type Client,
  createClient,
  createInProcessWorker,
  type InProcessWorkerOptions,
  type JobTypeProcessors,
  type JobTypeRegistry,
  type StopOptions,
} from 'holdfast/chains'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { type Faulty, faulty } from '../queue/faulty-storage.ts'

export interface ClockBench<T> {
  readonly clock: FakeClock
  readonly storage: MemoryStorage
  readonly line: Faulty<MemoryStorage>
  readonly client: Client<T>
  /** Starts a worker, with the defaults of the product where no option is given. */
  work(
    processors: JobTypeProcessors<T, never>,
    options?: Partial<Omit<InProcessWorkerOptions<T, never>, 'jobTypeProcessors'>>,
  ): Promise<(options?: StopOptions) => Promise<void>>
}

export async function clockBench<T>(t: TestContext, jobTypeRegistry: JobTypeRegistry<T>): Promise<ClockBench<T>> {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const line = faulty(storage)
  const client = await createClient({ storage: line.storage, jobTypeRegistry, clock })
  const stops: (() => Promise<void>)[] = []
  t.after(async () => {
    line.mend()
    const stopped = Promise.all(stops.map((stop) => stop()))
    await clock.advance(60_000)
    await stopped
    await client.close()
  })
  return {
    clock,
    storage,
    line,
    client,
    async work(jobTypeProcessors, options) {
      const worker = await createInProcessWorker<T, never>({
        storage: line.storage,
        jobTypeRegistry,
        clock,
        jobTypeProcessors,
        ...options,
      })
      const stop = await worker.start()
      stops.push(() => stop({ graceMs: 0, deadlineMs: 0 }))
      return stop
    },
  }
}
