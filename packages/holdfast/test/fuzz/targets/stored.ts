// Bytes of a storage that another version, another program or a bad disk has written: payloads, results, errors, and the entries that
// schedules, limits, workers, the history and the audit keep. Reads may say that they cannot be decoded; they never fail for it, and
// nor does a worker, which goes on with the next job.

import { createAdmin, MemoryStorage, Queue } from 'holdfast'
import { createClient, defineJobTypes } from 'holdfast/chains'
import { StorageMessageQueue } from 'holdfast/tasks'
import { Defect, type Target } from '../fuzz.ts'
import { mutatedBytes, type Random } from '../mutate.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const kept = { completedMs: 1e9, failedMs: 1e9, cancelledMs: 1e9 }

interface Input {
  readonly payload: Uint8Array
  readonly result: Uint8Array
  readonly error: Uint8Array
  readonly progress: Uint8Array
  /** By the index of the entry: what it is replaced with. */
  readonly entries: readonly { readonly index: number; readonly value: Uint8Array }[]
}

/** What a storage has after ordinary use. */
async function samples(): Promise<{ values: Uint8Array[]; entries: { key: readonly string[]; value: Uint8Array }[] }> {
  const storage = new MemoryStorage()
  const queue = new Queue<unknown, unknown>({ storage, name: 'q', limits: { concurrency: 5 }, presenceMs: 100 })
  queue.execute(async ({ payload }) => ({ payload, at: new Date(0), list: [1n, new Map([['a', 1]])] }))
  await queue.start()
  await queue.enqueueAndWait('a', { text: 'x', date: new Date(5), big: 5n, nested: [{ a: [undefined, NaN] }] })
  await queue.schedules.put('every', { everyMs: 1e9, payload: { a: 1 } })
  await queue.setLimits({ rate: { limit: 5, perMs: 1_000 } })
  const admin = createAdmin({ storage, by: 'ada' })
  await admin.pause({ face: 'queue', name: 'q' })
  await admin.history('15m')
  await admin.close()
  await queue.stop()
  await storage.connect()
  const { items } = await storage.list({ of: 'jobs', limit: 10, parts: ['payload', 'result'] })
  const page = await storage.kv.list([], { limit: 1_000 })
  const entries = page.items.map(({ key, value }) => ({ key, value }))
  await storage.disconnect()
  return {
    values: items.flatMap(({ payload, result }) => [payload, result].filter((value) => value !== undefined)),
    entries,
  }
}

const errors = [
  bytes('{"name":"Error","message":"no","stack":"Error: no\\n at x","cause":{"message":"why"},"code":"E"}'),
]

export const stored = async (): Promise<Target> => {
  const { values, entries } = await samples()
  return {
    input: (random: Random): Input => ({
      payload: mutatedBytes(random, values),
      result: mutatedBytes(random, values),
      error: mutatedBytes(random, errors),
      progress: mutatedBytes(random, values),
      entries: Array.from({ length: random.below(4) }, () => {
        const index = random.below(entries.length)
        return { index, value: mutatedBytes(random, [entries[index]!.value]) }
      }),
    }),
    async run(given) {
      const input = given as Input
      const storage = new MemoryStorage()
      await storage.connect()
      for (const { key, value } of entries) await storage.kv.set(key, value)
      for (const { index, value } of input.entries) await storage.kv.set(entries[index]!.key, value)
      for (const type of ['queue.q', 'chain.step', 'task.default'])
        for (const state of ['waits', 'failed', 'completed']) await makeJob(storage, type, state, input)
      await readAll(storage)
      await work(storage)
      await storage.disconnect()
    },
  }
}

async function makeJob(
  storage: MemoryStorage,
  type: string,
  state: string,
  { payload, result, error, progress }: Input,
): Promise<void> {
  const id = `${state}`
  await storage.add([{ type, id, token: `${type}${id}`, retention: kept, payload, maxAttempts: 1 }])
  if (state === 'waits') return
  const worker = `w${type}${id}`
  const { jobs } = await storage.claim({ worker, slots: 5, types: [{ type, leaseMs: 1e6 }] })
  for (const job of jobs) {
    const fence = { type, id: job.id, worker, attempt: job.attempt }
    const log = [{ at: 1, line: progress }]
    if (job.id === 'waits') await storage.settle([{ ...fence, kind: 'released' }])
    else if (state === 'failed') await storage.settle([{ ...fence, kind: 'failed', error, progress, log }])
    else await storage.settle([{ ...fence, kind: 'completed', result, progress, log }])
  }
}

const types = defineJobTypes<{ step: { entry: true; input: unknown; output: unknown } }>()

/** Every read of every face answers. */
async function readAll(storage: MemoryStorage): Promise<void> {
  const queue = new Queue({ storage, name: 'q' })
  const admin = createAdmin({ storage })
  const client = await createClient({ storage, jobTypeRegistry: types })
  const messages = new StorageMessageQueue(storage)
  const reads: Readonly<Record<string, () => Promise<unknown>>> = {
    'queue.list': () => queue.list({ payload: true, error: true }),
    'queue.get waits': () => queue.get('waits'),
    'queue.get failed': () => queue.get('failed'),
    'queue.get completed': () => queue.get('completed'),
    'queue.logs': () => queue.logs('failed'),
    'queue.explain': () => queue.explain('waits'),
    'queue.counts': () => queue.counts(),
    'queue.limits': () => queue.limits(),
    'queue.workers': () => queue.workers(),
    'admin.jobs.list': () => admin.jobs.list({ payload: true, error: true }),
    'admin.jobs.get': () => admin.jobs.get({ face: 'chain', name: 'step', id: 'failed' }),
    'admin.types': () => admin.types(),
    'admin.workers': () => admin.workers(),
    'admin.history': () => admin.history('15m'),
    'admin.audit.list': () => admin.audit.list(),
    'admin.schedules.list': () => admin.schedules.list(),
    'admin.doctor': () => admin.doctor(),
    'admin.jobs.tree': () => admin.jobs.tree({ face: 'chain', name: 'step', id: 'failed' }),
    'client.listJobs': () => client.listJobs(),
    'client.listJobChains': () => client.listJobChains(),
    'messages.failed': async () => {
      for await (const _ of messages.failed()) void _
    },
    'messages.get': () => messages.get('failed'),
  }
  try {
    for (const [name, read] of Object.entries(reads)) {
      try {
        await read()
      } catch (error) {
        throw new Defect(`${name}: ${String((error as Error).stack)}`)
      }
    }
  } finally {
    await queue.stop()
    await admin.close()
    await client.close()
    await messages.close()
  }
}

/** A worker comes to the end of its jobs, whatever their bytes are. */
async function work(storage: MemoryStorage): Promise<void> {
  await storage.pause({ type: 'queue.q', paused: false })
  const queue = new Queue<unknown, unknown>({ storage, name: 'q', presenceMs: false, pollMs: 5, backoff: 'none' })
  queue.execute(async () => 'done')
  queue.on('error', () => {})
  await queue.start()
  await queue.enqueue('after', 1)
  for (let turns = 0; ; turns++) {
    const { states } = await queue.counts()
    if (states.queued + states.processing + states.failing + states.scheduled === 0) break
    if (turns > 2_000) throw new Defect(`jobs are left: ${JSON.stringify(states)}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await queue.stop()
  const after = (await storage.get([{ type: 'queue.q', id: 'after' }]))[0]
  if (after?.state !== 'completed') throw new Defect(`the job behind is ${after?.state}`)
}
