// How long a run may take: any time with the defaults, and `timeoutMs` where it is set.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTasks, type TaskContext } from 'holdfast/tasks'
import { fakeClock } from 'holdfast/testing'
import { listOf } from '../../../conformance/src/message-queue/queue-case.ts'
import { queueBench, second, tasksBench, wait } from './clock-bench.ts'
import { anything, recordEvents, recordingQueue } from './fakes.ts'

const hour = 3_600_000

test('45 s in a handler of the message queue: one run, completed, with the defaults', async (t) => {
  const { clock, queue } = queueBench(t)
  let [runs, done] = [0, 0]
  await queue.consume(async () => {
    runs++
    await wait(clock, 45 * second)
    done++
  })
  await queue.enqueue('long')
  await clock.advance(120 * second)
  assert.deepEqual([runs, done], [1, 1])
  assert.deepEqual(await queue.getDepth(), { queued: 0, ready: 0, delayed: 0 })
  assert.deepEqual(await listOf(queue.failed()), [])
})

test('45 s in a task, with a second worker beside it: one run, completed, with the defaults', async (t) => {
  const { clock, storage, tasks, events } = tasksBench(t)
  const other = createTasks({ storage, clock })
  t.after(() => other[Symbol.asyncDispose]())
  const options = { schema: anything(), handler: () => wait(clock, 45 * second) }
  const task = tasks.defineTask('long', options)
  other.defineTask('long', options)
  const otherEvents = recordEvents(other)
  await Promise.all([tasks.start(), other.start()])
  await tasks.enqueueTask(task, 1)
  await clock.advance(120 * second)
  const names = [...events, ...otherEvents].map(({ name }) => name)
  assert.deepEqual(names.toSorted(), ['completed', 'enqueued', 'started'])
})

test('timeoutMs of the message queue: the signal aborts, the run counts as failed, and the slot is free', async (t) => {
  const { clock, queue, logger } = queueBench(t, {
    timeoutMs: 2 * second,
    maxAttempts: 2,
    backoff: 'none',
    concurrency: 1,
  })
  const reasons: unknown[] = []
  const runs: unknown[] = []
  await queue.consume((message, delivery) => {
    runs.push([message, delivery!.attempt])
    delivery!.signal.addEventListener('abort', () => reasons.push((delivery!.signal.reason as { code: string }).code))
    return message === 'hangs' ? new Promise<void>(() => {}) : undefined
  })
  await queue.enqueue('hangs')
  await queue.enqueue('next')
  await clock.advance(10 * second)
  assert.deepEqual(runs, [
    ['hangs', 1],
    ['next', 1],
    ['hangs', 2],
  ])
  assert.deepEqual(reasons, ['ATTEMPT_TIMEOUT', 'ATTEMPT_TIMEOUT'])
  const [failed] = await listOf(queue.failed())
  assert.deepEqual([failed!.message, failed!.attempts, failed!.error.code], ['hangs', 2, 'ATTEMPT_TIMEOUT'])
  assert.equal(logger.records.filter(({ level }) => level === 'error').length, 1)
})

test('timeoutMs of a task, over that of createTasks: the backoff applies, and a late result is ignored', async (t) => {
  const { clock, tasks, events } = tasksBench(t, {
    timeoutMs: hour,
    maxAttempts: 2,
    backoff: { type: 'fixed', delayMs: second },
  })
  const signals: AbortSignal[] = []
  const task = tasks.defineTask('slow', {
    schema: anything(),
    timeoutMs: 3 * second,
    handler: async ({ signal }) => {
      signals.push(signal)
      await wait(clock, 10 * second)
    },
  })
  await tasks.start()
  await tasks.enqueueTask(task, 1)
  await clock.advance(3_500)
  assert.deepEqual([signals.length, signals[0]!.aborted], [1, true])
  await clock.advance(60 * second)
  assert.equal(signals.length, 2)
  assert.deepEqual(
    events.map((event) => [event.name, 'durationMs' in event ? event.durationMs : undefined]),
    [
      ['enqueued', undefined],
      ['started', undefined],
      ['retried', 3 * second],
      ['started', undefined],
      ['failed', 3 * second],
    ],
  )
})

test('timeoutMs of the message queue, for tasks: the run ends with its events, and a message that sets one goes before it', async (t) => {
  const { clock, queue } = queueBench(t, { timeoutMs: 5 * second, concurrency: 2 })
  const tasks = createTasks({ queue, clock, maxAttempts: 1, logger: {} })
  t.after(() => tasks.stop())
  const events = recordEvents(tasks)
  const task = tasks.defineTask('slow', {
    schema: anything(),
    timeoutMs: hour,
    handler: () => wait(clock, 20 * second),
  })
  await tasks.start()
  await tasks.enqueueTask(task, 1)
  await tasks.enqueueTask(task, 2, { timeoutMs: 30 * second })
  await clock.advance(30 * second)
  assert.deepEqual(
    events.flatMap((event) => ('durationMs' in event ? [[event.name, event.durationMs]] : [])),
    [
      ['failed', 5 * second],
      ['completed', 20 * second],
    ],
  )
})

test('timeoutMs of createTasks, on a foreign queue: tasks apply it themselves', async () => {
  const [queue, clock] = [recordingQueue(), fakeClock()]
  const tasks = createTasks({ queue, clock, timeoutMs: second, backoff: 'none', logger: {} })
  let context: TaskContext | undefined
  const task = tasks.defineTask('t', {
    schema: anything(),
    handler: (given) => {
      context = given
      return new Promise<void>(() => {})
    },
  })
  await tasks.start()
  await tasks.enqueueTask(task, 1)
  const delivered = queue.deliver()
  await clock.advance(999)
  assert.equal(context!.signal.aborted, false)
  await clock.advance(1)
  await delivered
  assert.equal((context!.signal.reason as { code: string }).code, 'ATTEMPT_TIMEOUT')
  assert.equal(queue.sent[1]!.messages[0].attempt, 2)
  await tasks.stop()
})

test('a handler that ends in time leaves no timer', async (t) => {
  const { clock, queue } = queueBench(t, { timeoutMs: hour })
  const consumer = await queue.consume(() => {})
  await queue.enqueue(1)
  await clock.advance(second)
  await consumer.stop()
  await clock.settle()
  assert.equal(clock.pending, 0)
})
