// start(), run() and stop() of tasks: over the storage's queue, over foreign queues, and over both.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { MemoryStorage, StorageError } from 'holdfast'
import { createTasks, type MessageQueue, StorageMessageQueue, type TasksOptions } from 'holdfast/tasks'
import { fakeClock } from 'holdfast/testing'
import { faulty } from '../queue/faulty-storage.ts'
import { anything, keepingLogger, recordingQueue } from './fakes.ts'

const second = 1_000

function bench(t: TestContext, options: Omit<TasksOptions, 'storage' | 'clock'> = {}) {
  const clock = fakeClock()
  const faults = faulty(new MemoryStorage({ clock }))
  const logger = keepingLogger()
  const tasks = createTasks({ storage: faults.storage, clock, logger, ...options })
  const runs: unknown[] = []
  const task = tasks.defineTask('t', { schema: anything(), handler: (_context, data) => void runs.push(data) })
  t.after(async () => {
    faults.on('*', undefined)
    faults.on('connect', undefined)
    const disposed = tasks[Symbol.asyncDispose]()
    await clock.advance(60 * second)
    await disposed
  })
  return { clock, faults, logger, tasks, task, runs }
}

/** The state of a promise, as it is now. */
function stateOf(promise: Promise<unknown>): { state: 'pending' | 'fulfilled' | 'rejected'; reason?: unknown } {
  const seen: ReturnType<typeof stateOf> = { state: 'pending' }
  promise.then(
    () => (seen.state = 'fulfilled'),
    (reason: unknown) => Object.assign(seen, { state: 'rejected', reason }),
  )
  return seen
}

const refused = (): Promise<never> => {
  const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  return Promise.reject(new StorageError('cannot connect', { cause, maybeApplied: false }))
}

test('start() resolves when ready, and logs start and stop', async (t) => {
  const { clock, faults, logger, tasks, task, runs } = bench(t)
  await tasks.start()
  assert.ok(faults.count('claim') >= 1, 'the worker has looked for messages')
  await tasks.start()
  assert.equal(faults.connections, 1, 'a second start changes nothing')
  await tasks.enqueueTask(task, 1)
  await clock.advance(second)
  assert.deepEqual(runs, [1])
  await tasks.stop()
  await tasks.enqueueTask(task, 2)
  await clock.advance(second)
  assert.deepEqual(runs, [1], 'nothing runs after a stop')
  await tasks.start()
  await clock.advance(second)
  assert.deepEqual(runs, [1, 2])
  const messages = logger.records.filter(({ level }) => level === 'info').map(({ message }) => message)
  assert.deepEqual(messages.slice(0, 4), [
    "message queue 'default': worker started",
    'tasks: started',
    "message queue 'default': worker stopped",
    'tasks: stopped',
  ])
})

test('start() retries a storage that is unavailable, and logs each failure', async (t) => {
  const { clock, faults, logger, tasks, task, runs } = bench(t)
  faults.on('connect', refused)
  const started = stateOf(tasks.start())
  await clock.advance(10 * second)
  assert.equal(started.state, 'pending')
  assert.ok(logger.records.filter(({ level }) => level === 'error').length >= 3)
  faults.on('connect', undefined)
  await clock.advance(6 * second)
  assert.equal(started.state, 'fulfilled')
  await tasks.enqueueTask(task, 1)
  await clock.advance(second)
  assert.deepEqual(runs, [1])
})

test('start() rejects with a failure that time cannot mend, leaves nothing behind, and works when called again', async (t) => {
  const { clock, faults, tasks, task, runs } = bench(t)
  const failure = new StorageError('wrong password', { cause: new Error('28P01'), maybeApplied: false })
  faults.on('connect', () => Promise.reject(failure))
  await assert.rejects(tasks.start(), failure)
  assert.equal(faults.connections, 0)
  faults.on('connect', undefined)
  await tasks.start()
  await tasks.enqueueTask(task, 1)
  await clock.advance(second)
  assert.deepEqual(runs, [1])
})

test('a failure of one queue that time cannot mend stops the others', async (t) => {
  const clock = fakeClock()
  const [sound, broken] = [faulty(new MemoryStorage({ clock })), faulty(new MemoryStorage({ clock }))]
  broken.on('connect', () => Promise.reject(new StorageError('wrong password', { cause: {}, maybeApplied: false })))
  const queues = [sound, broken].map(({ storage }) => new StorageMessageQueue(storage, { clock, logger: {} }))
  t.after(() => Promise.all(queues.map((queue) => queue.close())))
  const tasks = createTasks({ queue: { task: queues[0], fallback: queues[1] }, clock })
  await assert.rejects(tasks.start(), { code: 'STORAGE_ERROR' })
  assert.equal(sound.connections, 0)
})

test('a queue that is ready works while another is retried', async (t) => {
  const clock = fakeClock()
  const [sound, away] = [faulty(new MemoryStorage({ clock })), faulty(new MemoryStorage({ clock }))]
  away.on('connect', refused)
  const queues = [sound, away].map(({ storage }) => new StorageMessageQueue(storage, { clock, logger: {} }))
  const tasks = createTasks({ queue: { task: queues[0], fallback: queues[1] }, clock, logger: {} })
  let runs = 0
  const task = tasks.defineTask('t', { schema: anything(), handler: () => void runs++ })
  t.after(() => Promise.all(queues.map((queue) => queue.close())))
  const started = stateOf(tasks.start())
  await clock.advance(10 * second)
  await tasks.enqueueTask(task, 1)
  await clock.advance(second)
  assert.deepEqual([started.state, runs, sound.connections], ['pending', 1, 2])
  away.on('connect', undefined)
  await clock.advance(6 * second)
  assert.equal(started.state, 'fulfilled')
  await tasks.stop()
})

test('stop() ends the retries of a start', async (t) => {
  const { clock, faults, tasks } = bench(t)
  faults.on('connect', refused)
  const started = stateOf(tasks.start())
  await clock.advance(second)
  const stopped = stateOf(tasks.stop())
  await clock.advance(10)
  assert.deepEqual([started.state, stopped.state], ['fulfilled', 'fulfilled'])
  const before = faults.count('connect')
  await clock.advance(60 * second)
  assert.equal(faults.count('connect'), before)
})

test('run() resolves when it was stopped, by stop() or by its signal', async (t) => {
  const { clock, tasks } = bench(t)
  for (const end of ['stop', 'signal'] as const) {
    const controller = new AbortController()
    const ran = stateOf(tasks.run({ signal: controller.signal }))
    await clock.advance(second)
    assert.equal(ran.state, 'pending')
    if (end === 'stop') void tasks.stop()
    else controller.abort()
    await clock.advance(second)
    assert.equal(ran.state, 'fulfilled', end)
  }
})

test('the signal of start() stops it, also one that is aborted already', async (t) => {
  const { clock, faults, tasks } = bench(t)
  const controller = new AbortController()
  await tasks.start({ signal: controller.signal })
  assert.equal(faults.connections, 1)
  controller.abort()
  await clock.advance(second)
  assert.equal(faults.connections, 0)
  await tasks.start({ signal: controller.signal })
  await clock.advance(second)
  assert.equal(faults.connections, 0)
})

test('stop({ graceMs }) lets handlers run so long, then aborts and releases them without spending an attempt', async (t) => {
  const { clock, tasks } = bench(t)
  const attempts: number[] = []
  const slow = tasks.defineTask('slow', {
    schema: anything(),
    handler: async ({ attempt, signal }) => {
      attempts.push(attempt)
      if (attempts.length > 1) return
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    },
  })
  await tasks.start()
  await tasks.enqueueTask(slow, 1)
  await clock.advance(second)
  const stopped = stateOf(tasks.stop({ graceMs: 5 * second }))
  await clock.advance(4 * second)
  assert.equal(stopped.state, 'pending')
  await clock.advance(2 * second)
  assert.equal(stopped.state, 'fulfilled')
  await tasks.start()
  await clock.advance(second)
  assert.deepEqual(attempts, [1, 1])
})

test('a foreign queue is ready once listen() was called; a call that rejects at once rejects start()', async () => {
  const failure = new Error('cannot listen')
  let signal: AbortSignal | undefined
  const sound: MessageQueue = {
    ...recordingQueue(),
    listen: (_handler, options) => {
      signal = options!.signal
      return new Promise((resolve) => signal!.addEventListener('abort', () => resolve()))
    },
  }
  const tasks = createTasks({ queue: sound })
  await tasks.start()
  assert.equal(signal!.aborted, false)
  await tasks.stop()
  assert.equal(signal!.aborted, true)
  for (const listen of [() => Promise.reject(failure), () => fail(failure)]) {
    const broken: MessageQueue = { ...recordingQueue(), listen }
    await assert.rejects(createTasks({ queue: { task: broken, fallback: sound } }).start(), failure)
    assert.equal(signal!.aborted, true, 'the other queue was stopped')
  }
})

function fail(error: Error): never {
  throw error
}

test('a foreign listen() that fails later stops all queues, is logged, and rejects run()', async () => {
  const [failure, logger] = [new Error('connection lost'), keepingLogger()]
  const listening = Promise.withResolvers<void>()
  const broken: MessageQueue = { ...recordingQueue(), listen: () => listening.promise }
  let signal: AbortSignal | undefined
  const sound: MessageQueue = {
    ...recordingQueue(),
    listen: (_handler, options) => {
      signal = options!.signal
      return new Promise((resolve) => signal!.addEventListener('abort', () => resolve()))
    },
  }
  const tasks = createTasks({ queue: { task: broken, fallback: sound }, logger })
  const ran = tasks.run()
  await tasks.start()
  listening.reject(failure)
  await assert.rejects(ran, failure)
  assert.equal(signal!.aborted, true)
  assert.equal(logger.records.filter(({ level }) => level === 'error').length, 1)
})

test('stop() returns although a foreign listen() does not end', async () => {
  const clock = fakeClock()
  const queue: MessageQueue = { ...recordingQueue(), listen: () => new Promise(() => {}) }
  const tasks = createTasks({ queue, clock })
  await tasks.start()
  const stopped = stateOf(tasks.stop({ graceMs: second }))
  await clock.advance(second)
  assert.equal(stopped.state, 'pending')
  await clock.advance(5 * second)
  assert.equal(stopped.state, 'fulfilled')
})

test('a queue that a task brings after start() is listened on, and retried while its storage is unavailable', async (t) => {
  const { clock, tasks } = bench(t)
  const late = faulty(new MemoryStorage({ clock }))
  late.on('connect', refused)
  const queue = new StorageMessageQueue(late.storage, { clock, logger: {} })
  t.after(() => queue.close())
  await tasks.start()
  let runs = 0
  const task = tasks.defineTask('late', { schema: anything(), handler: () => void runs++, queue })
  await clock.advance(10 * second)
  late.on('connect', undefined)
  await clock.advance(6 * second)
  await tasks.enqueueTask(task, 1)
  await clock.advance(second)
  assert.equal(runs, 1)
  await tasks.stop()
})

test('closing a queue stops its consumers', async () => {
  const clock = fakeClock()
  const faults = faulty(new MemoryStorage({ clock }))
  const queue = new StorageMessageQueue(faults.storage, { clock })
  const consumer = await queue.consume(() => {})
  assert.equal(faults.connections, 1)
  const closed = queue.close()
  await clock.advance(second)
  await closed
  assert.equal(faults.connections, 0)
  await consumer.stop()
})

test('a first claim that is answered after stop() runs nothing, and its message goes back', async (t) => {
  const { clock, faults, tasks, task, runs } = bench(t)
  await tasks.enqueueTask(task, 1)
  const late = Promise.withResolvers<void>()
  faults.on('listen', async (apply) => {
    await new Promise<void>((resolve) => void clock.after(2 * second, resolve))
    return apply()
  })
  faults.on('claim', async (apply) => {
    const claim = await apply()
    await late.promise
    return claim
  })
  const started = tasks.start()
  const stopped = tasks.stop()
  await clock.advance(4 * second)
  assert.equal(faults.count('claim'), 1)
  // The stop waits 5 s for the start.
  await clock.advance(2 * second)
  await stopped
  late.resolve()
  await clock.advance(second)
  await started
  assert.deepEqual(runs, [], 'no handler began')
  assert.equal(faults.count('extend'), 0)
  const outcomes = faults.calls.filter(({ verb }) => verb === 'settle').flatMap(({ args }) => args[0])
  assert.deepEqual(
    outcomes.map((one) => (one as { kind: string }).kind),
    ['released'],
  )
})
