// Support for the chains case: a client, chains to start, and workers that run them until all are done or the time limit.

import { type Storage } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { type NewJob, storedType } from 'holdfast/storage'
import { type Limits, type Pace, payloadOf, startClock } from '../load.ts'

export type Way = 'batched' | 'staged' | 'atomic'

const types = defineJobTypes<{
  one: { entry: true; input: unknown; output: null }
  both: { entry: true; input: null; output: null; blockers: [{ typeName: 'one' }, { typeName: 'one' }] }
  long: { entry: true; input: number; output: null; continueWith: { typeName: 'more' } }
  more: { input: number; output: null; continueWith: { typeName: 'more' } }
}>()

export type Bench = Awaited<ReturnType<typeof openChains>>

const kept = { completedMs: 604_800_000, failedMs: 604_800_000, cancelledMs: 604_800_000 }
const chainLength = 5

/** Starts `start(n)` for n = 0, 1, … in concurrent batches. Resolves with the number of starts. */
async function startAll(
  count: number,
  seconds: number,
  { size, inFlight }: { size: number; inFlight: number },
  start: (from: number, to: number) => Promise<unknown>,
): Promise<number> {
  const deadline = performance.now() + seconds * 1_000
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count && performance.now() < deadline) {
      const from = next
      next = Math.min(count, from + size)
      await start(from, next)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return next
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)
const one = (n: number) => ({ typeName: 'one', input: payloadOf(n) }) as const
const inBatches = { size: 100, inFlight: 4 }

export async function openChains(storage: Storage) {
  const client = await createClient({ storage, jobTypeRegistry: types })
  return {
    start: (count: number, seconds: number, size: number, inFlight: number) =>
      startAll(count, seconds, { size, inFlight }, (from, to) =>
        size === 1 ? client.startJobChain(one(from)) : client.startJobChains({ items: range(from, to).map(one) }),
      ),
    add: (count: number, seconds: number) =>
      startAll(count, seconds, inBatches, (from, to) => client.startJobChains({ items: range(from, to).map(one) })),
    /** One at a time, each in a transaction of its own, as beside a user's row. */
    startInTransactions: (count: number, seconds: number) =>
      startAll(count, seconds, { size: 1, inFlight: 1 }, (from) =>
        storage.transaction!((tx) => client.startJobChain({ ...one(from), tx })),
      ),
    addFanIns: (count: number, seconds: number) =>
      startAll(count, seconds, { size: 20, inFlight: 4 }, (from, to) =>
        client.startJobChains({
          items: range(from, to).map((n) => ({
            typeName: 'both' as const,
            input: null,
            startBlockers: async ({ startJobChain }: StartBlockers) =>
              [await startJobChain(one(n)), await startJobChain(one(n))] as const,
          })),
        }),
      ),
    addLong: (count: number, seconds: number) =>
      startAll(count, seconds, inBatches, (from, to) =>
        client.startJobChains({ items: range(from, to).map(() => ({ typeName: 'long' as const, input: 1 })) }),
      ),

    /** Adds through the storage directly: a million starts would take minutes. */
    async fill(count: number): Promise<void> {
      const payload = Buffer.from(JSON.stringify(payloadOf(0)))
      for (let from = 0; from < count; from += 1_000) {
        const job = (n: number): NewJob => ({
          type: storedType('chain', 'one'),
          id: `waiting-${n}`,
          token: `${from}`,
          payload,
          retention: kept,
        })
        await storage.add(range(from, Math.min(count, from + 1_000)).map(job))
      }
    },

    /** The number of completed jobs and their time, without the stop. @throws if a job ran twice */
    async run({ jobs, seconds }: Limits, how: { way: Way; concurrency: number; workers: number }): Promise<Pace> {
      const over = Promise.withResolvers<void>()
      const timer = setTimeout(over.resolve, seconds * 1_000)
      const seen = new Set<string>()
      let completed = 0
      const onCompleted = (): void => {
        if (++completed === jobs) over.resolve()
      }
      const again: string[] = []
      const once = (id: string): void => {
        if (seen.has(id)) again.push(id)
        seen.add(id)
      }
      const stop = startClock()
      const stops = await Promise.all(
        Array.from({ length: how.workers }, async () => (await workerOf(storage, how, once, onCompleted)).start()),
      )
      await over.promise
      clearTimeout(timer)
      const pace = stop(completed)
      await Promise.all(stops.map((end) => end({ graceMs: 1_000, deadlineMs: 2_000 })))
      if (again.length > 0) throw new Error(`${again.length} jobs ran more than once`)
      return pace
    },

    /** Ms from the call of startJobChain to the start of the handler. */
    async latencies(perSecond: number, seconds: number): Promise<number[]> {
      const begun = new Map<string, number>()
      const found: number[] = []
      const onStart = (id: string): void => void found.push(performance.now() - begun.get(id)!)
      const how = { way: 'batched', concurrency: 10 } as const
      const stop = await (await workerOf(storage, how, onStart, () => {})).start()
      const starts: Promise<unknown>[] = []
      const first = performance.now()
      for (let n = 0; n < perSecond * seconds; n++) {
        const wait = first + (n * 1_000) / perSecond - performance.now()
        if (wait > 0) await new Promise((resolve) => void setTimeout(resolve, wait))
        begun.set(`chain-${n}`, performance.now())
        starts.push(client.startJobChain({ ...one(n), id: `chain-${n}` }))
      }
      await Promise.all(starts)
      const until = performance.now() + 10_000
      while (found.length < starts.length && performance.now() < until) {
        await new Promise((resolve) => void setTimeout(resolve, 20))
      }
      await stop()
      if (found.length < starts.length) throw new Error(`${found.length} of ${starts.length} chains ran`)
      return found
    },

    /** Postgres only: row updates of the job tables, counted by the server. */
    async rowUpdates(): Promise<number> {
      const rows = await storage.transaction!((tx) =>
        (tx as { query(text: string): Promise<string[][]> }).query(
          `SELECT n_tup_upd::text AS c0 FROM pg_stat_user_tables WHERE relname = 'jobs'`,
        ),
      )
      return Number(rows[0]![0])
    },

    close: () => client.close(),
  }
}

interface StartBlockers {
  startJobChain(item: ReturnType<typeof one>): Promise<{ typeName: 'one'; id: string }>
}

const go = (next: number) => ({ typeName: 'more', input: next }) as const

function workerOf(
  storage: Storage,
  { way, concurrency }: { way: Way; concurrency: number },
  onStart: (id: string) => void,
  onCompleted: () => void,
) {
  return createInProcessWorker({
    storage,
    jobTypeRegistry: types,
    concurrency,
    observer: { jobCompleted: onCompleted },
    jobTypeProcessors: {
      one: {
        process: async ({ job, prepare, complete }) => {
          onStart(job.id)
          if (way === 'batched') return complete(null)
          if (way === 'atomic') await prepare({ mode: 'atomic' })
          return complete(() => null)
        },
      },
      both: {
        process: async ({ job, complete }) => {
          onStart(job.id)
          return complete(null)
        },
      },
      long: {
        process: async ({ job, complete }) => {
          onStart(job.id)
          return complete(({ continueWith }) => continueWith(go(2)), { tx: false })
        },
      },
      more: {
        process: async ({ job, complete }) => {
          onStart(job.id)
          const place = job.input
          return place === chainLength
            ? complete(null)
            : complete(({ continueWith }) => continueWith(go(place + 1)), { tx: false })
        },
      },
    },
  })
}
