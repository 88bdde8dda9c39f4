// Tasks over a real storage: the acceptance criteria again, with the storage's own queue and with a queue without flags.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createTasks, kvPrefixes, type MessageQueue, StorageKvStore, StorageMessageQueue } from 'holdfast/tasks'
import { drain } from 'holdfast/testing'
import { listOf } from '../../../conformance/src/message-queue/queue-case.ts'
import { sizeOf } from '../full-size.ts'
import { until } from '../queue/driver.ts'
import { faulty } from '../queue/faulty-storage.ts'
import type { ProcessDriver } from '../processes/drivers.ts'
import { anything, recordEvents, keepingLogger, untouchableKv, withoutFlags } from './fakes.ts'

const deduplicationKey = 'k'

async function bench(t: TestContext, driver: ProcessDriver) {
  const place = await driver.open()
  const storage = place.storage()
  const queue = new StorageMessageQueue(storage)
  const kv = new StorageKvStore(storage)
  t.after(async () => {
    await queue.close()
    await kv.close()
    await place.close()
  })
  return { storage, queue, kv }
}

function mailTasks(...[options]: Parameters<typeof createTasks>) {
  const tasks = createTasks(options)
  const runs: unknown[] = []
  const task = tasks.defineTask('mail', { schema: anything(), handler: (_context, data) => void runs.push(data) })
  return { tasks, task, runs, events: recordEvents(tasks) }
}

export function onDriverTests(driver: ProcessDriver): void {
  const on = `on ${driver.name}`

  test(`[S1] [W1] [W2] the storage's queue deduplicates by itself ${on}: per task, visibly, and without the store`, async (t) => {
    const { queue } = await bench(t, driver)
    const logger = keepingLogger()
    const { tasks, task, runs, events } = mailTasks({ queue, kv: untouchableKv(), logger })
    const other = tasks.defineTask('other', { schema: anything(), handler: (_context, data) => void runs.push(data) })
    const first = await tasks.enqueueTask(task, 1, { deduplicationKey })
    const second = await tasks.enqueueTask(task, 2, { deduplicationKey })
    const third = await tasks.enqueueTask(other, 3, { deduplicationKey })
    const batch = await tasks.enqueueTaskMany(task, [4, 5], { deduplicationKey })
    assert.deepEqual(
      [first.status, second.status, third.status, batch.status],
      ['enqueued', 'duplicate', 'enqueued', 'duplicate'],
    )
    assert.deepEqual([second.id, batch.ids], [first.id, [first.id]])
    const skips = events.filter(({ name }) => name === 'deduplicated')
    const skip = { name: 'deduplicated', task: 'mail', queue: 'default', id: first.id, path: 'native' }
    assert.deepEqual(skips, [skip, skip])
    assert.equal(logger.records.filter(({ message }) => /skipped/.test(message)).length, 2)
    await tasks.start()
    await until(() => runs.length === 2)
    await tasks.stop()
    assert.deepEqual(runs.toSorted(), [1, 3])
  })

  for (const verb of ['setIfAbsent', 'cas'] as const) {
    test(`[S2] by ${verb} of the storage’s store ${on}: one of 50 concurrent enqueues is stored, the rest is skipped inside the TTL`, async (t) => {
      const { queue, kv } = await bench(t, driver)
      const only = { get: kv.get.bind(kv), set: kv.set.bind(kv), delete: kv.delete.bind(kv), list: kv.list.bind(kv) }
      const store = { ...only, [verb]: (kv[verb] as (...args: unknown[]) => unknown).bind(kv) }
      const { tasks, task } = mailTasks({ queue: withoutFlags(queue), kv: store, taskDeduplicationTtl: 1_500 })
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, number) => tasks.enqueueTask(task, number, { deduplicationKey })),
      )
      assert.equal(results.filter(({ status }) => status === 'enqueued').length, 1)
      assert.equal(new Set(results.map(({ id }) => id)).size, 1)
      assert.deepEqual(await queue.getDepth(), { queued: 1, ready: 1, delayed: 0 })
      await until(async () => (await tasks.enqueueTask(task, 'later', { deduplicationKey })).status === 'enqueued')
      assert.equal((await queue.getDepth()).queued, 2)
    })
  }

  test(`[S3] closed throws at once ${on}, single and batch, with nothing stored; open sends, with one debug record`, async (t) => {
    const { queue } = await bench(t, driver)
    const closed = mailTasks({ queue: withoutFlags(queue), taskDeduplicationFallback: 'closed' })
    assert.throws(() => closed.tasks.enqueueTask(closed.task, 1, { deduplicationKey }), TypeError)
    assert.throws(() => closed.tasks.enqueueTaskMany(closed.task, [1], { deduplicationKey }), TypeError)
    assert.equal((await queue.getDepth()).queued, 0)
    const logger = keepingLogger()
    const open = mailTasks({ queue: withoutFlags(queue), logger })
    for (const data of [1, 2]) await open.tasks.enqueueTask(open.task, data, { deduplicationKey })
    assert.equal((await queue.getDepth()).queued, 2)
    assert.equal(logger.records.filter(({ level }) => level === 'debug').length, 2)
  })

  test(`[S4] the store has the key under the prefix alone ${on}, and other prefixes are left alone`, async (t) => {
    const { queue, kv } = await bench(t, driver)
    const { tasks, task } = mailTasks({ queue: withoutFlags(queue), kv })
    const theirs = [...kvPrefixes.activityIdempotence, 'mail', deduplicationKey] as const
    await kv.set(theirs, 'theirs')
    const { id } = await tasks.enqueueTask(task, 1, { deduplicationKey })
    const entries = await listOf(kv.list(kvPrefixes.taskDeduplication))
    assert.deepEqual(entries, [{ key: [...kvPrefixes.taskDeduplication, 'mail', deduplicationKey], value: id }])
    assert.equal(await kv.get(theirs), 'theirs')
    assert.equal((await listOf(kv.list())).length, 2)
  })

  test(`[S5] batches ${on}: all stored or all skipped; a bad payload or an empty batch leaves the key free`, async (t) => {
    const { queue, kv } = await bench(t, driver)
    for (const target of [queue, withoutFlags(queue)] as MessageQueue[]) {
      const { tasks, task } = mailTasks({ queue: target, kv })
      const key = { deduplicationKey: target === queue ? 'native' : 'kv' }
      const before = (await queue.getDepth()).queued
      await assert.rejects(tasks.enqueueTaskMany(task, [1, 2, () => {}], key), { code: 'SERIALIZATION_ERROR' })
      await tasks.enqueueTaskMany(task, [], key)
      assert.equal((await tasks.enqueueTaskMany(task, [1, 2, 3], key)).status, 'enqueued')
      assert.equal((await tasks.enqueueTaskMany(task, [4, 5], key)).status, 'duplicate')
      assert.equal((await queue.getDepth()).queued - before, 3)
    }
  })

  test(`[W18] a send that fails leaves no marker in the store ${on}`, async (t) => {
    const { queue, kv } = await bench(t, driver)
    const failure = new Error('unavailable')
    const broken: MessageQueue = { ...withoutFlags(queue), enqueue: () => Promise.reject(failure) }
    const { tasks, task } = mailTasks({ queue: broken, kv })
    await assert.rejects(tasks.enqueueTask(task, 1, { deduplicationKey }), failure)
    assert.deepEqual(await listOf(kv.list()), [])
  })

  test(`[W2] [W3] the window counts from the due time ${on}, by the queue and by the store, and a skip is reported`, async (t) => {
    const { queue, kv } = await bench(t, driver)
    const span = { delay: 400, ttl: 400 }
    for (const target of [queue, withoutFlags(queue)] as MessageQueue[]) {
      const { tasks, task, events } = mailTasks({ queue: target, kv, taskDeduplicationTtl: span.ttl })
      const send = () => tasks.enqueueTask(task, 1, { deduplicationKey, delay: span.delay })
      const began = performance.now()
      const { id } = await send()
      const path = target === queue ? 'native' : 'kv'
      const known = path === 'native' ? { state: 'scheduled' } : {}
      assert.deepEqual(await send(), { status: 'duplicate', deduplicated: true, id, ...known })
      assert.deepEqual(
        events.filter(({ name }) => name === 'deduplicated').map((event) => 'path' in event && event.path),
        [path],
      )
      await until(async () => (await send()).status === 'enqueued')
      // The storage counts in whole milliseconds.
      assert.ok(performance.now() - began >= span.delay + span.ttl - 2, path)
    }
  })

  test(`[W19] an unknown task is kept ${on}, and a worker that defines it runs it`, async (t) => {
    const { queue } = await bench(t, driver)
    const { tasks: older, events } = mailTasks({ queue, taskRetryPolicy: () => 20 })
    const newer = createTasks({ queue })
    const runs: unknown[] = []
    const added = newer.defineTask('new', { schema: anything(), handler: (_context, data) => void runs.push(data) })
    await older.start()
    await newer.enqueueTask(added, 'kept')
    await until(() => events.some((event) => event.name === 'retried' && event.reason === 'unknown_task'))
    await older.stop()
    await newer.start()
    await until(() => runs.length === 1)
    await newer.stop()
    assert.deepEqual(runs, ['kept'])
  })

  const batch = sizeOf(10_000, driver.name, { memory: 10_000, else: 3_000 })
  test(`[W11] a batch of ${batch} is stored whole ${on}`, async (t) => {
    const { queue } = await bench(t, driver)
    const { tasks, task } = mailTasks({ queue })
    const { ids } = await tasks.enqueueTaskMany(
      task,
      Array.from({ length: batch }, (_, number) => number),
      { deduplicationKey },
    )
    assert.equal(new Set(ids).size, batch)
    assert.equal((await queue.getDepth()).queued, batch)
  })

  test(`[W13] calls to the storage per message do not grow with the backlog ${on}`, async (t) => {
    const place = await driver.open()
    t.after(() => place.close())
    const calls = async (backlog: number): Promise<{ enqueue: number; handle: number }> => {
      const faults = faulty(place.storage())
      const queue = new StorageMessageQueue(faults.storage, {
        name: `backlog ${backlog}`,
        concurrency: 1,
        pollInterval: 'P1D',
      })
      const many = Array.from({ length: backlog / 4 }, (_, number) => number)
      await queue.enqueueMany(many, { delay: 'PT1H' })
      for (const orderingKey of ['a', 'b']) await queue.enqueueMany(many, { orderingKey })
      await queue.enqueueMany(many, { deduplicationKey: 'k' })
      const before = faults.count()
      const addsBefore = faults.count('add')
      for (let number = 0; number < 50; number++) await queue.enqueue(number)
      const enqueue = faults.count('add') - addsBefore
      // What comes by the clock comes in between on a busy machine.
      assert.ok(faults.count() - before <= enqueue + 5)
      let handled = 0
      const stop = new AbortController()
      const listened = faults.count()
      await queue.listen(() => void (++handled === 100 && stop.abort()), { signal: stop.signal })
      const handle = faults.count() - listened
      await queue.close()
      return { enqueue, handle }
    }
    const [few, many] = [await calls(400), await calls(sizeOf(8_000, driver.name, { memory: 8_000, else: 2_000 }))]
    assert.equal(few.enqueue, 50)
    assert.equal(many.enqueue, 50)
    // A claim carries the previous outcome; the rest is start and stop.
    assert.ok(few.handle <= 150 && many.handle <= 150, JSON.stringify([few, many]))
  })

  test(`drain ${on} runs the tasks that are due, and no others`, async (t) => {
    const { storage, queue } = await bench(t, driver)
    const { tasks, task, runs } = mailTasks({ queue })
    await tasks.enqueueTaskMany(task, [1, 2, 3], { orderingKey: 'k' })
    await tasks.enqueueTask(task, 'later', { delay: 'PT1H' })
    assert.deepEqual(await drain(tasks, { storage }), { completed: 3, failing: 0, failed: 0, released: 0 })
    assert.deepEqual(runs, [1, 2, 3])
  })

  test(`createTasks({ storage }) ${on} makes queue and store, and closes them when it is disposed`, async (t) => {
    const place = await driver.open()
    t.after(() => place.close())
    const { tasks, task, runs } = mailTasks({ storage: place.storage() })
    await tasks.start()
    await tasks.enqueueTask(task, new Map([['when', new Date(0)]]), { job: { priority: 5 } })
    await until(() => runs.length === 1)
    assert.deepEqual(runs, [new Map([['when', new Date(0)]])])
    await tasks[Symbol.asyncDispose]()
  })
}
