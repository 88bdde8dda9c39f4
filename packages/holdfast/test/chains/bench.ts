// The setup of a test of chains: a storage of its own, with clients and workers that are closed after the test.

import type { TestContext } from 'node:test'
import { type Storage } from 'holdfast'
import {
  type Client,
  type ClientOptions,
  createClient,
  createInProcessWorker,
  type InProcessWorkerOptions,
  type JobTypeProcessors,
  type JobTypeRegistry,
  type ObserverEvent,
  type StopOptions,
} from 'holdfast/chains'
import { type Faulty, faulty } from '../queue/faulty-storage.ts'
import type { ChainDriver, Rows } from './driver.ts'

type Stop = (options?: StopOptions) => Promise<void>
type WorkerGiven<T> = Partial<Omit<InProcessWorkerOptions<T, unknown>, 'jobTypeProcessors'>>

interface ToldEvent {
  readonly name: ObserverEvent
  readonly data: Readonly<Record<string, unknown>>
}

export interface ChainBench<T> {
  readonly storage: Storage
  /** Set where the storage has transactions. */
  readonly rows: Rows
  /** Wraps the same storage: its calls can be counted, delayed and made to fail. */
  readonly line: Faulty
  readonly client: Client<T, unknown>
  another(options?: Partial<ClientOptions<T, unknown>>): Promise<Client<T, unknown>>
  /** Starts a worker, by default with retries at once. */
  work(processors: JobTypeProcessors<T, unknown>, options?: WorkerGiven<T>): Promise<Stop>
  /** Events of clients and workers, in order. */
  readonly events: ToldEvent[]
  /** Values of gauges, apart from the events. */
  readonly gauges: ToldEvent[]
  told(name: ObserverEvent): Readonly<Record<string, unknown>>[]
}

export const atOnce = { initialDelayMs: 0, jitter: 0 } as const

export async function chainBench<T>(
  t: TestContext,
  driver: ChainDriver,
  jobTypeRegistry: JobTypeRegistry<T>,
  clientOptions: Partial<ClientOptions<T, unknown>> = {},
): Promise<ChainBench<T>> {
  const { storage, close, rows } = await driver.open()
  const line = faulty(storage)
  if (driver.hints === false) line.lose(() => true)
  const events: ToldEvent[] = []
  const gauges: ToldEvent[] = []
  const observer = new Proxy(
    {},
    {
      get: (_, name: ObserverEvent) => (data: ToldEvent['data']) =>
        (name.startsWith('jobType') ? gauges : events).push({ name, data }),
    },
  )
  const ends: (() => Promise<void>)[] = []
  t.after(async () => {
    line.mend()
    await Promise.all(ends.map((end) => end()))
    await close()
  })
  const another: ChainBench<T>['another'] = async (options) => {
    const client = await createClient<T, unknown>({ storage: line.storage, jobTypeRegistry, observer, ...options })
    ends.push(() => client.close())
    return client
  }
  return {
    storage,
    rows: rows!,
    line,
    client: await another(clientOptions),
    another,
    async work(jobTypeProcessors, { jobTypeProcessing, ...options } = {}) {
      const worker = await createInProcessWorker<T, unknown>({
        storage: line.storage,
        jobTypeRegistry,
        observer,
        jobTypeProcessors,
        jobTypeProcessing: {
          pollIntervalMs: driver.hints === false ? 20 : 200,
          defaultRetryConfig: atOnce,
          ...jobTypeProcessing,
        },
        ...options,
      })
      const stop = await worker.start()
      ends.push(() => stop({ graceMs: 0, deadlineMs: 0 }))
      return stop
    },
    events,
    gauges,
    told: (name) => events.filter((event) => event.name === name).map(({ data }) => data),
  }
}

export const wait = { timeoutMs: 30_000, pollIntervalMs: 100 } as const

/** The jobs of a chain in the order of the chain: a list has jobs of one millisecond in the order of their types. */
export function inChain<J extends { readonly chainIndex: number }>(jobs: readonly J[]): J[] {
  return jobs.toSorted((a, b) => a.chainIndex - b.chainIndex)
}
