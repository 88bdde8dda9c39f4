import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test } from 'node:test'
import { MemoryStorage, Queue } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { type Swept } from 'holdfast/storage'
import { StorageMessageQueue } from 'holdfast/tasks'
import { fakeClock } from 'holdfast/testing'
import type { EngineEvent } from '../../../src/engine/events.ts'
import { Sweeper } from '../../../src/engine/upkeep/sweep.ts'

const nothing: Swept = { jobs: 0, ended: [], marks: 0, entries: 0, more: false }

/** A sweeper that finds, one call after the other, what the list says; then nothing. */
function sweeping(finds: (Swept | Error)[] = []) {
  const clock = fakeClock()
  const events: EngineEvent[] = []
  const at: number[] = []
  const storage = {
    sweep: async () => {
      at.push(clock.monotonic())
      const found = finds.shift() ?? nothing
      if (found instanceof Error) throw found
      return found
    },
  }
  const sweeper = new Sweeper({ storage, clock, types: [], publishEvent: (event) => void events.push(event) })
  return { clock, sweeper, events, at }
}

test('where there is nothing to sweep it looks once a minute', async () => {
  const { clock, sweeper, at } = sweeping()
  sweeper.start()
  await clock.advance(53_000)
  assert.equal(at.length, 0)
  await clock.advance(547_000)
  assert.ok(at.length >= 10 && at.length <= 11, `${at.length} times in ten minutes`)
})

test('after a find it looks again in 5 s', async () => {
  const { clock, sweeper, at } = sweeping([{ ...nothing, jobs: 3 }])
  sweeper.start()
  await clock.advance(60_000 + 5_000)
  assert.equal(at.length, 2)
  assert.ok(at[1]! - at[0]! <= 5_000)
})

test('what is left over is swept at once', async () => {
  const { clock, sweeper, at } = sweeping([
    { ...nothing, jobs: 1_000, more: true },
    { ...nothing, marks: 1_000, more: true },
    { ...nothing, entries: 5 },
  ])
  sweeper.start()
  await clock.advance(60_000)
  assert.equal(at.length, 3)
})

test('a failure is told of, and it goes on', async () => {
  const { clock, sweeper, at, events } = sweeping([new Error('away')])
  sweeper.start()
  await clock.advance(180_000)
  assert.ok(at.length >= 3)
  assert.deepEqual(
    events.map(({ name }) => name),
    ['error'],
  )
})

test('stopped, it leaves nothing behind, also when stopped during a sweep', async () => {
  const { clock, sweeper, at } = sweeping([{ ...nothing, jobs: 1, more: true }])
  sweeper.start()
  await clock.advance(53_000)
  sweeper.stop()
  assert.equal(clock.pending, 0)

  const slow = fakeClock()
  const during = new Sweeper({
    storage: {
      sweep: async () => {
        during.stop()
        return { ...nothing, jobs: 1, more: true }
      },
    },
    clock: slow,
    types: [],
    publishEvent: () => {},
  })
  during.start()
  await slow.advance(60_000)
  assert.equal(slow.pending, 0)
  assert.equal(at.length, 0)
})

test('[trap 38] a working queue sweeps what has expired, by itself', async (t) => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const queue = new Queue<number>({ storage, clock, resultTTL: 1_000, concurrency: 100 })
  t.after(() => queue.stop({ timeout: 0 }))
  queue.execute(() => {})
  await queue.start()
  for (let n = 0; n < 500; n++) await queue.enqueue(`j${n}`, n)
  await clock.advance(500)
  assert.equal((await storage.count({})).types[0]!.states.completed, 500)
  await clock.advance(120_000)
  // Read by what is stored, not by what has not expired: the record is gone, not only absent.
  assert.deepEqual(await storage.sweep({ limit: 1_000 }), nothing)
  assert.equal((await storage.count({})).types.find(({ type }) => type === 'default')?.states.completed ?? 0, 0)
})

// ── counts ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const keep3 = { completed: { ageMs: Infinity, count: 3 }, cancelled: { count: 1 } }

test('[F29] a queue keeps as many records as its counts say: the newest', async (t) => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const queue = new Queue<number>({ storage, clock, retention: keep3, concurrency: 10 })
  t.after(() => queue.stop({ timeout: 0 }))
  queue.execute(() => {})
  await queue.start()
  for (let n = 0; n < 10; n++) {
    await queue.enqueue(`j${n}`, n)
    await queue.enqueue(`c${n}`, n, { delayMs: 1_000 })
    await queue.cancel(`c${n}`)
    await clock.advance(10)
  }
  await clock.advance(60_000)
  const { items } = await storage.list({ of: 'jobs', limit: 100, order: 'asc' })
  assert.deepEqual(
    items.map(({ id }) => id),
    ['j7', 'j8', 'c9', 'j9'],
  )
  // Kept for ever, as far as its age goes.
  assert.equal(items[0]!.expiresAt! - items[0]!.finishedAt!, 100 * 365 * 86_400_000)
})

test('[F29] a count beside an age: the bound that is reached first counts', async (t) => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const retention = { completed: { ageMs: 300_000, count: 3 } }
  const queue = new Queue<number>({ storage, clock, retention })
  t.after(() => queue.stop({ timeout: 0 }))
  queue.execute(() => {})
  await queue.start()
  for (let n = 0; n < 5; n++) await queue.enqueue(`j${n}`, n)
  const left = async (): Promise<number> => (await storage.list({ of: 'jobs', limit: 100 })).items.length
  await clock.advance(60_000)
  assert.equal(await left(), 3)
  await clock.advance(300_000)
  assert.equal(await left(), 0)
})

test('[F29] a worker counts the types that it serves, and no others', async (t) => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const counted = new Queue<number>({ storage, clock, name: 'counted', retention: { completed: { count: 2 } } })
  const other = new Queue<number>({ storage, clock, name: 'other' })
  for (const queue of [counted, other]) {
    t.after(() => queue.stop({ timeout: 0 }))
    queue.execute(() => {})
    await queue.start()
    for (let n = 0; n < 5; n++) await queue.enqueue(`j${n}`, n)
  }
  await clock.advance(60_000)
  const { types } = await storage.count({})
  assert.deepEqual(types.map(({ type, states }) => [type, states.completed]).toSorted(), [
    ['queue.counted', 2],
    ['queue.other', 5],
  ])
})

test('[F29] counts of chains by their first type, and of messages', async (t) => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const jobTypeRegistry = defineJobTypes<{ step: { entry: true; input: number; output: null } }>()
  const client = await createClient({ storage, clock, jobTypeRegistry })
  const worker = await createInProcessWorker({
    storage,
    clock,
    jobTypeRegistry,
    jobTypeProcessors: {
      step: { retention: { completed: { count: 2 } }, process: async ({ complete }) => complete(null) },
    },
  })
  const queue = new StorageMessageQueue(storage, { clock, retention: { completed: { ageMs: Infinity, count: 1 } } })
  const consumer = await queue.consume(() => {})
  t.after(async () => {
    await Promise.all([worker.stop(), client.close(), consumer.stop()])
    await queue.close()
  })
  await worker.start()
  for (let input = 0; input < 5; input++) {
    await client.startJobChain({ typeName: 'step', input })
    await queue.enqueue(input)
  }
  await clock.advance(60_000)
  const { types } = await storage.count({})
  assert.deepEqual(types.map(({ type, states }) => [type, states.completed]).toSorted(), [
    ['chain.step', 2],
    ['task.default', 1],
  ])
})

test('[F29] the ages of chains are those of their client: a processor refuses one', async () => {
  const jobTypeRegistry = defineJobTypes<{ step: { entry: true; input: number; output: null } }>()
  const retention = { completed: { ageMs: 5 } } as never
  const jobTypeProcessors = { step: { retention, process: async () => null as never } }
  const created = createInProcessWorker({ storage: new MemoryStorage(), jobTypeRegistry, jobTypeProcessors })
  await assert.rejects(created, { code: 'INVALID_ARGUMENT', message: /no age here: the client that starts a chain/ })
})

// ── deadlines ────────────────────────────────────────────────────────────────────────────────────────────────────────

test('[F5] a job that a sweep ends is an event of its own queue alone; the channel has all of them', async (t) => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const retention = { completedMs: 1e6, failedMs: 1e6, cancelledMs: 1e6 }
  const late = { token: 't', retention, delayMs: 600_000, expiresInMs: 10 }
  await storage.add(['queue.mine', 'queue.other'].map((type) => ({ type, id: 'a', ...late })))
  const queue = new Queue<number>({ storage, clock, name: 'mine' })
  t.after(() => queue.stop({ timeout: 0 }))
  const cancelled: string[] = []
  queue.on('cancelled', (id) => cancelled.push(id))
  const published: unknown[] = []
  const onEvent = (event: unknown): void => {
    const { name, type, reason } = event as { name: string; type: string; reason?: string }
    if (name === 'cancelled') published.push([type, reason])
  }
  subscribe('holdfast', onEvent)
  t.after(() => unsubscribe('holdfast', onEvent))
  queue.execute(() => {})
  await queue.start()
  await clock.advance(60_000)
  assert.deepEqual(cancelled, ['a'])
  assert.deepEqual(published, [
    ['queue.mine', 'expired'],
    ['queue.other', 'expired'],
  ])
})
