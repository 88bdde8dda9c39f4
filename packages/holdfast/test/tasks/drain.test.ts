// drain of holdfast/testing: the real engine, run until nothing can run without time passing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage, Queue } from 'holdfast'
import { createTasks } from 'holdfast/tasks'
import { drain, fakeClock } from 'holdfast/testing'
import { anything } from './fakes.ts'

const [minute, hour] = [60_000, 3_600_000]

function bench() {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const tasks = createTasks({ storage, clock, taskRetryPolicy: ({ attempt }) => (attempt < 3 ? minute : null) })
  const runs: unknown[] = []
  const note = tasks.defineTask('note', { schema: anything(), handler: (_context, data) => void runs.push(data) })
  const bad = tasks.defineTask('bad', {
    schema: anything(),
    handler: ({ attempt }) => {
      runs.push(`bad ${attempt}`)
      throw new Error('no')
    },
  })
  return { clock, storage, tasks, runs, note, bad }
}

const nothing = { completed: 0, failing: 0, failed: 0, released: 0 }

test('drain leaves delayed tasks for their time', async () => {
  const { clock, storage, tasks, runs, note } = bench()
  await tasks.enqueueTask(note, 'now')
  await tasks.enqueueTask(note, 'later', { delay: hour })
  assert.deepEqual(await drain(tasks, { storage }), { ...nothing, completed: 1 })
  assert.deepEqual(runs, ['now'])
  await clock.advance(hour)
  assert.deepEqual(await drain(tasks, { storage }), { ...nothing, completed: 1 })
  assert.deepEqual(runs, ['now', 'later'])
  await tasks[Symbol.asyncDispose]()
})

test('drain keeps the order of a key: a task behind a delay or a retry waits too', async () => {
  const { clock, storage, tasks, runs, note, bad } = bench()
  await tasks.enqueueTask(bad, 1, { orderingKey: 'a' })
  await tasks.enqueueTask(note, 'behind bad', { orderingKey: 'a' })
  await tasks.enqueueTask(note, 'head', { orderingKey: 'b', delay: hour })
  await tasks.enqueueTask(note, 'behind head', { orderingKey: 'b' })
  assert.deepEqual(await drain(tasks, { storage }), { ...nothing, failing: 1 })
  await clock.advance(minute)
  assert.deepEqual(await drain(tasks, { storage }), { ...nothing, failing: 1 })
  await clock.advance(minute)
  assert.deepEqual(await drain(tasks, { storage }), { ...nothing, failed: 1, completed: 1 })
  await clock.advance(hour)
  assert.deepEqual(await drain(tasks, { storage }), { ...nothing, completed: 2 })
  assert.deepEqual(runs, ['bad 1', 'bad 2', 'bad 3', 'behind bad', 'head', 'behind head'])
  await tasks[Symbol.asyncDispose]()
})

test('drain runs one task of a deduplication key, and the tasks that handlers enqueue', async () => {
  const { storage, tasks, runs, note } = bench()
  const parent = tasks.defineTask('parent', {
    schema: anything(),
    handler: async () => void (await tasks.enqueueTask(note, 'child')),
  })
  for (let time = 0; time < 3; time++) await tasks.enqueueTask(parent, time, { deduplicationKey: 'k' })
  assert.deepEqual(await drain(tasks, { storage }), { ...nothing, completed: 2 })
  assert.deepEqual(runs, ['child'])
  await tasks[Symbol.asyncDispose]()
})

test('drain of a Queue: a limit ends it early, and it rejects with what start() rejects with', async () => {
  const storage = new MemoryStorage()
  const queue = new Queue<number>({ storage, concurrency: 1 })
  queue.execute(() => {})
  for (let number = 0; number < 10; number++) await queue.enqueue(String(number), number)
  const { completed } = await drain(queue, { storage, types: ['default'], limit: 3 })
  assert.ok(completed >= 3 && completed < 10, String(completed))
  assert.equal((await drain(queue, { storage })).completed, 10 - completed)
  const failure = new Error('cannot start')
  const broken = { start: () => Promise.reject(failure), stop: async () => {} }
  await queue.enqueue('left', 1)
  await assert.rejects(drain(broken, { storage }), failure)
  await assert.rejects(drain(queue, { storage, types: 'default' as never }), { code: 'INVALID_ARGUMENT' })
})

const noWorkerOf = (type: string) => ({
  code: 'INVALID_ARGUMENT',
  message: new RegExp(`^drain: jobs of ${type} are due, and no worker takes them\\.`),
})

test('drain rejects jobs that no worker takes: of a queue without a handler, and of another queue', async (t) => {
  const storage = new MemoryStorage()
  const [mail, audit] = ['mail', 'audit'].map((name) => new Queue<string>({ storage, name }))
  t.after(() => Promise.all([mail!.stop(), audit!.stop()]))
  await mail!.enqueue('1', 'ada')
  await assert.rejects(drain(mail!, { storage }), noWorkerOf('queue.mail'))
  mail!.execute(async () => void (await audit!.enqueue('1', 'mail was sent')))
  await assert.rejects(drain(mail!, { storage }), noWorkerOf('queue.audit'))
  assert.equal((await mail!.getStatus('1'))?.state, 'completed')
  assert.deepEqual(await drain(mail!, { storage, types: ['mail'] }), nothing)
  // A worker of another queue that is known by its entry alone.
  audit!.execute(() => {})
  await audit!.start()
  await drain(mail!, { storage })
  assert.equal((await audit!.getStatus('1'))?.state, 'completed')
})
