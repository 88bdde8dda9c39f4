// How a worker runs a task: the three kinds of retry, messages that cannot run, and the queues that it listens on.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createTasks, RetryError, StorageMessageQueue, type TaskContext, type TasksOptions } from 'holdfast/tasks'
import { listOf } from '../../../conformance/src/message-queue/queue-case.ts'
import { until } from '../queue/driver.ts'
import { anything, recordEvents, keepingLogger, recordingQueue } from './fakes.ts'

test('[T4] extended: the task’s own policy decides, in place, with the same id', async (t) => {
  const queue = new StorageMessageQueue(new MemoryStorage())
  const tasks = createTasks({ queue, taskRetryPolicy: () => assert.fail('the policy of the task applies') })
  t.after(() => tasks.stop().then(() => queue.close()))
  const events = recordEvents(tasks)
  const asked: unknown[] = []
  const errors: unknown[] = []
  const task = tasks.defineTask('t', {
    schema: anything(),
    handler: () => {
      throw new Error('no')
    },
    retryPolicy: ({ attempt, error, elapsedMs }) => {
      asked.push([attempt, (error as Error).message, elapsedMs >= 0])
      return attempt < 3 ? attempt : null
    },
    onError: ({ attempt, nextDelayMs, task: name }, error, data) => {
      errors.push([attempt, nextDelayMs, name, (error as Error).message, data])
      throw new Error('onError changes nothing')
    },
  })
  await tasks.start()
  const { id } = await tasks.enqueueTask(task, 'data')
  await until(() => events.some(({ name }) => name === 'failed'))
  assert.deepEqual(
    asked,
    [1, 2, 3].map((attempt) => [attempt, 'no', true]),
  )
  assert.deepEqual(errors, [
    [1, 1, 't', 'no', 'data'],
    [2, 2, 't', 'no', 'data'],
    [3, null, 't', 'no', 'data'],
  ])
  assert.deepEqual(
    events.map((event) => [event.name, event.id]),
    ['enqueued', 'started', 'retried', 'started', 'retried', 'started', 'failed'].map((name) => [name, id]),
  )
  await until(async () => (await listOf(queue.failed())).length === 1)
  const [failed] = await listOf(queue.failed())
  assert.deepEqual([failed!.id, failed!.attempts, failed!.error.message], [id, 3, 'no'])
})

test('[T4] foreign with nativeRetrial: the error goes to the queue, and start() warns once of a policy that does not apply', async () => {
  const [queue, logger] = [recordingQueue({ nativeRetrial: true }), keepingLogger()]
  const tasks = createTasks({ queue, logger })
  const error = new Error('no')
  const task = tasks.defineTask('t', {
    schema: anything(),
    handler: () => {
      throw error
    },
    retryPolicy: () => assert.fail('it does not apply'),
  })
  await tasks.start()
  const warnings = (): number => logger.records.filter(({ level }) => level === 'warn').length
  assert.equal(warnings(), 1)
  await tasks.enqueueTask(task, 1)
  await assert.rejects(queue.deliver(), error)
  assert.equal(queue.sent.length, 1)
  assert.equal(warnings(), 2, 'the failed run is logged')
  await tasks.stop()
  await tasks.start()
  await tasks.stop()
  assert.equal(warnings(), 2, 'the policy is warned of once')
})

test('[T4] any other foreign queue: the task is enqueued again with the next attempt; a failed send goes to the queue', async () => {
  const queue = recordingQueue()
  const tasks = createTasks({ queue, taskRetryPolicy: ({ attempt }) => (attempt < 2 ? 'PT1S' : null) })
  const events = recordEvents(tasks)
  const task = tasks.defineTask('t', {
    schema: anything(),
    handler: () => {
      throw new Error('no')
    },
  })
  await tasks.start()
  const { id } = await tasks.enqueueTask(task, 1, { orderingKey: 'o' })
  await queue.deliver()
  assert.deepEqual(queue.sent[1]!.options, { delay: 1_000, orderingKey: 'o' })
  assert.deepEqual([queue.sent[1]!.messages[0].attempt, queue.sent[1]!.messages[0].id], [2, id])
  await queue.deliver()
  assert.equal(queue.sent.length, 2, 'acknowledged')
  assert.deepEqual(
    events.map(({ name }) => name),
    ['enqueued', 'started', 'retried', 'started', 'failed'],
  )
  await tasks.enqueueTask(task, 1)
  queue.failure = new Error('unavailable')
  await assert.rejects(queue.deliver(), queue.failure)
  const last = events.at(-1)!
  assert.deepEqual([last.name, 'reason' in last && last.reason], ['failed', 'retry_enqueue'])
  await tasks.stop()
})

for (const [name, delay, expected] of [
  ['later', 'PT2S', [{ delay: 2_000 }]],
  ['never', null, []],
] as const) {
  test(`[T4] a RetryError overrides the policy: ${name}`, async () => {
    const queue = recordingQueue()
    const tasks = createTasks({ queue, taskRetryPolicy: () => 5 })
    const task = tasks.defineTask('t', {
      schema: anything(),
      handler: () => {
        throw new RetryError(delay, { cause: new Error('why') })
      },
    })
    await tasks.start()
    await tasks.enqueueTask(task, 1)
    await queue.deliver()
    assert.deepEqual(
      queue.sent.slice(1).map(({ options }) => options),
      expected,
    )
    await tasks.stop()
  })
}

for (const policy of [
  () => {
    throw new Error('broken')
  },
  () => 'soon',
  () => -1,
  () => undefined as never,
]) {
  test(`[T4] a policy that throws or returns no delay is logged, and the default is used: ${policy}`, async () => {
    const [queue, logger] = [recordingQueue(), keepingLogger()]
    const tasks = createTasks({ queue, logger, taskRetryPolicy: policy })
    const task = tasks.defineTask('t', {
      schema: anything(),
      handler: () => {
        throw new Error('no')
      },
    })
    await tasks.start()
    await tasks.enqueueTask(task, 1)
    await queue.deliver()
    const { delay } = queue.sent[1]!.options!
    assert.ok((delay as number) >= 500 && (delay as number) <= 1_000, String(delay))
    assert.equal(logger.records.filter(({ level }) => level === 'error').length, 1)
    await tasks.stop()
  })
}

test('a corrupt or future time of enqueue counts as 0 ms elapsed', async () => {
  const queue = recordingQueue()
  const elapsed: number[] = []
  const tasks = createTasks({ queue, taskRetryPolicy: ({ elapsedMs }) => (elapsed.push(elapsedMs), null) })
  const task = tasks.defineTask('t', {
    schema: anything(),
    handler: () => {
      throw new Error('no')
    },
  })
  await tasks.enqueueTask(task, 1)
  for (const enqueuedAt of [Date.now() + 1e9, 'x', null, NaN]) {
    await tasks.processMessage({ ...queue.sent[0]!.messages[0], enqueuedAt })
  }
  assert.deepEqual(elapsed, [0, 0, 0, 0])
})

test('[W19] an unknown task is kept: a worker without it retries it, a worker that defines it runs it', async (t) => {
  const storage = new MemoryStorage()
  const options: TasksOptions = { storage, taskRetryPolicy: () => 20 }
  const [older, newer] = [createTasks(options), createTasks(options)]
  t.after(() => Promise.all([older, newer].map((tasks) => tasks[Symbol.asyncDispose]())))
  const runs: TaskContext[] = []
  const task = newer.defineTask('new', { schema: anything(), handler: (context) => void runs.push(context) })
  const events = recordEvents(older)
  await older.start()
  await newer.enqueueTask(task, 1)
  await until(() => events.filter(({ name }) => name === 'retried').length >= 2)
  assert.ok(events.every((event) => !('reason' in event) || event.reason === 'unknown_task'))
  await older.stop()
  await newer.start()
  await until(() => runs.length === 1)
})

test('undecodable data and messages that are no tasks fail at once, and a foreign queue gets an acknowledgement', async () => {
  const [queue, logger] = [recordingQueue(), keepingLogger()]
  const tasks = createTasks({ queue, logger, taskRetryPolicy: () => assert.fail('no retry') })
  const events = recordEvents(tasks)
  const task = tasks.defineTask('t', { schema: anything(), handler: () => assert.fail('it must not run') })
  await tasks.enqueueTask(task, 1)
  const message = queue.sent[0]!.messages[0] as object
  for (const wrong of [{ ...message, data: 'x' }, { ...message, data: 5 }, { ...message, v: 2 }, null, 'text', 1]) {
    await tasks.processMessage(wrong)
  }
  const failures = events.filter(({ name }) => name === 'failed')
  assert.deepEqual(
    failures.map((event) => 'reason' in event && event.reason),
    Array(6).fill('deserialization'),
  )
  assert.equal(queue.sent.length, 1)
})

test('[T5] resolution: the task’s own queue, then the one for tasks, then the fallback', async () => {
  const [own, task, fallback] = [recordingQueue(), recordingQueue(), recordingQueue()]
  const sentTo = async (options: TasksOptions, withOwn: boolean): Promise<unknown> => {
    for (const queue of [own, task, fallback]) queue.sent.length = 0
    const tasks = createTasks(options)
    const handle = tasks.defineTask('t', { schema: anything(), handler: () => {}, ...(withOwn && { queue: own }) })
    await tasks.enqueueTask(handle, 1)
    return [own, task, fallback].find((queue) => queue.sent.length === 1)
  }
  assert.equal(await sentTo({ queue: { task, fallback } }, true), own)
  assert.equal(await sentTo({ queue: { task, fallback } }, false), task)
  assert.equal(await sentTo({ queue: task }, false), task)
  assert.equal(await sentTo({ queue: { fallback } }, false), fallback)
  assert.equal(await sentTo({ queue: { task, fallback }, taskQueueResolution: 'strict' }, false), task)
})

test('[T5] start listens on every distinct queue, also on one added later, dispatches by name, and works again after a stop', async () => {
  const [task, fallback, own, late] = [recordingQueue(), recordingQueue(), recordingQueue(), recordingQueue()]
  const tasks = createTasks({ queue: { task, fallback } })
  const runs: string[] = []
  const define = (name: string, queue?: typeof own) =>
    tasks.defineTask(name, { schema: anything(), handler: (context) => void runs.push(context.task), queue })
  const [plain, special] = [define('plain'), define('special', own)]
  await tasks.start()
  await tasks.start()
  const later = define('later', late)
  await tasks.enqueueTask(plain, 1)
  await tasks.enqueueTask(special, 1)
  await tasks.enqueueTask(later, 1)
  for (const queue of [task, own, late]) await queue.deliver()
  // Any queue may deliver it.
  await fallback.enqueue(task.sent[0]!.messages[0])
  await fallback.deliver()
  assert.deepEqual(runs, ['plain', 'special', 'later', 'plain'])
  await tasks.stop()
  await tasks.start()
  await tasks.enqueueTask(plain, 1)
  await task.deliver()
  assert.equal(runs.length, 5)
  await tasks.stop()
})

test('a handler that a stop aborts is released: no attempt is spent, and onError is not called', async (t) => {
  const storage = new MemoryStorage()
  const queue = new StorageMessageQueue(storage, { graceMs: 20 })
  const tasks = createTasks({ queue })
  t.after(() => queue.close())
  const events = recordEvents(tasks)
  const attempts: number[] = []
  const task = tasks.defineTask('t', {
    schema: anything(),
    handler: async ({ attempt, signal }) => {
      attempts.push(attempt)
      if (attempts.length > 1) return
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    },
    onError: () => assert.fail('a stop is no error'),
  })
  await tasks.start()
  await tasks.enqueueTask(task, 1)
  await until(() => attempts.length === 1)
  await tasks.stop()
  await tasks.start()
  await until(() => events.some(({ name }) => name === 'completed'))
  await tasks.stop()
  assert.deepEqual(attempts, [1, 1])
  assert.deepEqual(
    events.map(({ name }) => name),
    ['enqueued', 'started', 'released', 'started', 'completed'],
  )
})
