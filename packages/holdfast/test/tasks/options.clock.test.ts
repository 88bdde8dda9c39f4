// `delayMs`, `runAt`, `retention`, `pollMs`, `graceMs` and `logger` of tasks and the message queue, beside the seed's names as aliases.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { type Clock, createAdmin, MemoryStorage, type WorkerInfo } from 'holdfast'
import {
  createTasks,
  StorageMessageQueue,
  type StorageMessageQueueOptions,
  type TaskEnqueueOptions,
} from 'holdfast/tasks'
import { fakeClock } from 'holdfast/testing'
import { queueBench, second, tasksBench, wait } from './clock-bench.ts'
import { anything, keepingLogger, recordingQueue } from './fakes.ts'

const [hour, day] = [3_600_000, 86_400_000]

const dues: readonly (readonly [what: string, (now: number) => TaskEnqueueOptions])[] = [
  ['delayMs', () => ({ delayMs: 5 * second })],
  ['its alias delay, as ISO 8601', () => ({ delay: 'PT5S' })],
  ['its alias delay, as fields', () => ({ delay: { seconds: 5 } })],
  ['runAt as epoch ms', (now) => ({ runAt: now + 5 * second })],
  ['runAt as a Date', (now) => ({ runAt: new Date(now + 5 * second) })],
]
for (const [what, due] of dues) {
  test(`${what}: the task is due then, on both kinds of queue, and its key is taken from then on`, async (t) => {
    const { clock, tasks, events } = tasksBench(t, { taskDeduplicationTtl: second })
    const foreign = recordingQueue()
    const task = tasks.defineTask('t', { schema: anything(), handler: () => {} })
    const other = tasks.defineTask('foreign', { schema: anything(), handler: () => {}, queue: foreign })
    const options = { ...due(clock.now()), deduplicationKey: 'k' }
    await tasks.start()
    for (const handle of [task, other]) await tasks.enqueueTask(handle, 1, options)
    assert.deepEqual(foreign.sent[0]!.options, { delay: 5 * second })
    const completed = (): number => events.filter(({ name }) => name === 'completed').length
    await clock.advance(4_999)
    assert.equal(completed(), 0)
    await clock.advance(1)
    assert.equal(completed(), 1)
    for (const handle of [task, other]) {
      assert.equal((await tasks.enqueueTask(handle, 2, { deduplicationKey: 'k' })).status, 'duplicate')
    }
    await clock.advance(second)
    for (const handle of [task, other]) {
      assert.equal((await tasks.enqueueTask(handle, 3, { deduplicationKey: 'k' })).status, 'enqueued')
    }
  })
}

test('runAt in the past is due at once', async (t) => {
  const { clock, queue } = queueBench(t)
  const seen: unknown[] = []
  await queue.consume((message) => void seen.push(message))
  await queue.enqueue('past', { runAt: 0 })
  await queue.enqueueMany(['a', 'b'], { runAt: new Date(clock.now() + second) })
  await clock.advance(0)
  assert.deepEqual(seen, ['past'])
  await clock.advance(second)
  assert.deepEqual(seen, ['past', 'a', 'b'])
})

/** The states of the records that a sweep leaves. */
async function kept(storage: MemoryStorage): Promise<string[]> {
  await storage.sweep({ limit: 1_000 })
  const { items } = await storage.list({ of: 'jobs', limit: 10 })
  return items.map(({ state }) => state).toSorted()
}
/** One message ends in each state. */
async function story(t: TestContext, options: StorageMessageQueueOptions) {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const queue = new StorageMessageQueue(storage, { clock, logger: {}, maxAttempts: 1, ...options })
  t.after(() => queue.close())
  const consumer = await queue.consume((message) => {
    if (message === 'bad') throw new Error('no')
  })
  await queue.enqueue('good')
  await queue.enqueue('bad')
  const { ids } = await queue.enqueue('cancelled', { delayMs: hour })
  await storage.cancel([{ type: 'task.default', id: ids[0]! }])
  await clock.advance(second)
  await consumer.stop()
  return { clock, storage }
}

test('retention by default: completed gone at once, cancelled kept 1 day, failed 14 days', async (t) => {
  const { clock, storage } = await story(t, {})
  assert.deepEqual(await kept(storage), ['cancelled', 'failed'])
  await clock.advance(day)
  assert.deepEqual(await kept(storage), ['failed'])
  await clock.advance(12 * day)
  assert.deepEqual(await kept(storage), ['failed'])
  await clock.advance(2 * day)
  assert.deepEqual(await kept(storage), [])
})

test('retention: an end state that is named has its age, the others their default', async (t) => {
  const { clock, storage } = await story(t, { retention: { completed: { ageMs: hour }, failed: { ageMs: 0 } } })
  assert.deepEqual(await kept(storage), ['cancelled', 'completed'])
  await clock.advance(hour)
  assert.deepEqual(await kept(storage), ['cancelled'])
})

for (const options of [{ pollMs: 7 * second }, { pollInterval: 'PT7S' }] as StorageMessageQueueOptions[]) {
  test(`without hints, a message is found by the fallback poll: ${JSON.stringify(options)}`, async (t) => {
    const { clock, queue, faults } = queueBench(t, options)
    faults.lose(() => true)
    const seen: unknown[] = []
    await queue.consume((message) => void seen.push(message))
    await clock.advance(second)
    await queue.enqueue(1)
    await clock.advance(5 * second)
    assert.deepEqual(seen, [])
    await clock.advance(2 * second)
    assert.deepEqual(seen, [1])
  })
}

for (const options of [{ graceMs: 3 * second }, { grace: { seconds: 3 } }] as StorageMessageQueueOptions[]) {
  test(`a handler is aborted after the grace of the queue: ${JSON.stringify(options)}`, async (t) => {
    const { clock, queue } = queueBench(t, options)
    let aborted = false
    const consumer = await queue.consume(async (_message, delivery) => {
      delivery!.signal.addEventListener('abort', () => (aborted = true))
      await wait(clock, hour)
    })
    await queue.enqueue(1)
    await clock.advance(second)
    const stopped = consumer.stop()
    await clock.advance(2_900)
    assert.equal(aborted, false)
    await clock.advance(200)
    assert.equal(aborted, true)
    await clock.advance(second)
    await stopped
  })
}

test('the logger receives failures, lost connections and their return at their levels', async (t) => {
  const { clock, queue, faults, logger } = queueBench(t, { maxAttempts: 2, backoff: 'none' })
  await queue.consume(() => {
    throw new Error('no')
  })
  await queue.enqueue('bad', { id: 'one' })
  await clock.advance(second)
  const transient = Object.assign(new Error('connection reset'), { transient: true })
  faults.on('*', () => Promise.reject(transient))
  await clock.advance(60 * second)
  faults.on('*', undefined)
  await clock.advance(60 * second)
  const lines = new Set(logger.records.map(({ level, message }) => `${level}: ${message}`))
  for (const expected of [
    "info: message queue 'default': worker started",
    "warn: message queue 'default': job 'one' failed attempt 1 and is retried",
    "error: message queue 'default': job 'one' failed for good after 2 attempts",
    "warn: message queue 'default': the memory storage does not answer; calls are retried",
  ]) {
    assert.ok(lines.has(expected), `${expected}\n${[...lines].join('\n')}`)
  }
  assert.ok(
    [...lines].some((line) => line.startsWith("info: message queue 'default': the memory storage answers again")),
  )
  assert.ok([...lines].some((line) => line.startsWith("error: message queue 'default': ")))
})

test('a failure of a task on a foreign queue is logged by the tasks: a warning, then an error', async () => {
  const [queue, logger] = [recordingQueue(), keepingLogger()]
  const tasks = createTasks({ queue, logger, maxAttempts: 2, backoff: 'none' })
  const task = tasks.defineTask('mail', {
    schema: anything(),
    handler: () => {
      throw new Error('no')
    },
  })
  await tasks.start()
  await tasks.enqueueTask(task, 1)
  await queue.deliver()
  await queue.deliver()
  assert.deepEqual(
    logger.records.filter(({ level }) => level !== 'info').map(({ level, message }) => [level, message]),
    [
      ['warn', "task 'mail': attempt 1 failed and is retried"],
      ['error', "task 'mail': it failed for good after 2 attempts"],
    ],
  )
  await tasks.stop()
})

test('createTasks({ storage }) takes the options of its queue; beside a queue of its own they are refused', async (t) => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const retention = { completed: { ageMs: hour } }
  const tasks = createTasks({ storage, clock, name: 'mails', concurrency: 2, leaseMs: 5_000, pollMs: 100, retention })
  t.after(() => tasks.close())
  let [running, most] = [0, 0]
  const task = tasks.defineTask('t', {
    schema: anything(),
    handler: async () => {
      most = Math.max(most, ++running)
      await new Promise<void>((resolve) => void clock.after(second, resolve))
      running--
    },
  })
  await tasks.start()
  const { ids } = await tasks.enqueueTaskMany(task, [1, 2, 3, 4])
  await clock.advance(10 * second)
  assert.equal(most, 2)
  assert.equal((await tasks.get(ids[0]!))?.state, 'completed')
  const [worker] = await workersOf(storage, clock)
  assert.deepEqual([worker?.types, worker?.concurrency, worker?.leaseMs], [[{ face: 'task', name: 'mails' }], 2, 5_000])
  for (const [option, value] of Object.entries({ name: 'x', concurrency: 1, maxSnoozes: 1, retention })) {
    const options = { queue: new StorageMessageQueue(storage), [option]: value }
    const message = new RegExp(`^createTasks options: expected ${option} as an option of the queue`)
    assert.throws(() => createTasks(options), { code: 'INVALID_ARGUMENT', message })
  }
})

async function workersOf(storage: MemoryStorage, clock: Clock): Promise<WorkerInfo[]> {
  const admin = createAdmin({ storage, clock })
  try {
    return await admin.workers()
  } finally {
    await admin.close()
  }
}
