// snooze() and fail(), returned or thrown, by the kind of queue: they cost no attempt, or fail for good.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createTasks, fail, RetryError, snooze, StorageMessageQueue, type TaskOptions } from 'holdfast/tasks'
import { fakeClock } from 'holdfast/testing'
import { listOf } from '../../../conformance/src/message-queue/queue-case.ts'
import { anything, recordEvents, recordingQueue } from './fakes.ts'

type Handler = TaskOptions<ReturnType<typeof anything>>['handler']

const second = 1_000

function extendedBench(t: TestContext, handler: Handler) {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const queue = new StorageMessageQueue(storage, { clock, logger: {} })
  const tasks = createTasks({ queue, clock, maxAttempts: 2, backoff: 'none' })
  const errors: unknown[] = []
  const task = tasks.defineTask('t', {
    schema: anything(),
    handler,
    onError: (_context, error) => void errors.push(error),
  })
  t.after(async () => {
    await tasks.stop()
    await queue.close()
  })
  return { clock, storage, queue, tasks, task, errors, events: recordEvents(tasks) }
}

const ways: Readonly<Record<'returned' | 'thrown', <T>(directive: T) => T>> = {
  returned: (directive) => directive,
  thrown: (directive) => {
    throw directive
  },
}

for (const [way, give] of Object.entries(ways)) {
  test(`snooze() ${way}: the task runs again then, and no attempt is spent, however often`, async (t) => {
    const runs: [at: number, attempt: number][] = []
    const { clock, tasks, task, errors, events } = extendedBench(t, ({ attempt }) => {
      runs.push([clock.now() - began, attempt])
      return runs.length <= 5 ? give(snooze({ delayMs: 10 * second })) : undefined
    })
    const began = clock.now()
    await tasks.start()
    await tasks.enqueueTask(task, 1)
    await clock.advance(60 * second)
    assert.deepEqual(
      runs,
      [0, 1, 2, 3, 4, 5].map((round) => [round * 10 * second, 1]),
    )
    assert.deepEqual(errors, [])
    const names = events.map(({ name }) => name)
    assert.equal(names.filter((name) => name === 'released').length, 5)
    assert.equal(names.at(-1), 'completed')
  })

  test(`snooze() ${way} with runAt and a cause: the record has both`, async (t) => {
    const { clock, storage, tasks, task } = extendedBench(t, () =>
      give(snooze({ runAt: new Date(clock.now() + 7 * second), cause: new Error('not ready') })),
    )
    await tasks.start()
    const dueAt = clock.now() + 7 * second
    const { id } = await tasks.enqueueTask(task, 1)
    await clock.advance(second)
    const [record] = await storage.get([{ type: 'task.default', id: id! }], { parts: ['error'] })
    assert.deepEqual([record!.state, record!.runAt, record!.failures], ['scheduled', dueAt, 0])
    assert.match(Buffer.from(record!.error!).toString(), /not ready/)
  })

  test(`fail() ${way}: the task fails for good, whatever attempts are left`, async (t) => {
    const { clock, queue, tasks, task, errors, events } = extendedBench(t, () => give(fail('no such user')))
    await tasks.start()
    await tasks.enqueueTask(task, 1)
    await clock.advance(second)
    const [failed] = await listOf(queue.failed())
    assert.deepEqual([failed!.attempts, failed!.error.message], [1, 'no such user'])
    assert.equal(errors.length, 1)
    assert.deepEqual(
      events.map(({ name }) => name),
      ['enqueued', 'started', 'failed'],
    )
  })

  test(`on a foreign queue, snooze() ${way} enqueues the task again with the same attempt`, async () => {
    for (const nativeRetrial of [false, true]) {
      const [queue, clock] = [recordingQueue({ nativeRetrial }), fakeClock()]
      const tasks = createTasks({ queue, clock })
      const events = recordEvents(tasks)
      const task = tasks.defineTask('t', {
        schema: anything(),
        handler: (_context, data) => give(snooze(data === 1 ? { delayMs: 50 } : { runAt: clock.now() + 70 })),
      })
      await tasks.start()
      for (const data of [1, 2]) await tasks.enqueueTask(task, data, { orderingKey: 'o', deduplicationKey: 'k' })
      await queue.deliver()
      await queue.deliver()
      assert.deepEqual(
        queue.sent.slice(2).map(({ messages, options }) => [messages[0].attempt, options]),
        [
          [1, { delay: 50, orderingKey: 'o' }],
          [1, { delay: 70, orderingKey: 'o' }],
        ],
      )
      assert.deepEqual(
        events.map(({ name }) => name).filter((name) => name !== 'enqueued'),
        ['started', 'released', 'started', 'released'],
      )
      queue.failure = new Error('unavailable')
      await assert.rejects(queue.deliver(), queue.failure)
      await tasks.stop()
    }
  })

  test(`on a foreign queue, fail() ${way} is an event and an acknowledgement`, async () => {
    for (const nativeRetrial of [false, true]) {
      const queue = recordingQueue({ nativeRetrial })
      const tasks = createTasks({ queue, logger: {} })
      const events = recordEvents(tasks)
      const task = tasks.defineTask('t', { schema: anything(), handler: () => give(fail('no')) })
      await tasks.start()
      await tasks.enqueueTask(task, 1)
      await queue.deliver()
      assert.equal(queue.sent.length, 1)
      assert.equal(events.at(-1)!.name, 'failed')
      await tasks.stop()
    }
  })

  test(`a handler of the message queue itself may use them too, ${way}`, async (t) => {
    const clock = fakeClock()
    const queue = new StorageMessageQueue(new MemoryStorage({ clock }), { clock, maxAttempts: 1, logger: {} })
    const attempts: number[] = []
    const consumer = await queue.consume((message, delivery) => {
      attempts.push(delivery!.attempt)
      if (message === 'fail') return give(fail('no'))
      return attempts.length === 1 ? give(snooze({ delayMs: second })) : undefined
    })
    t.after(async () => {
      await consumer.stop()
      await queue.close()
    })
    await queue.enqueue('snooze', { orderingKey: 'k' })
    await queue.enqueue('fail', { orderingKey: 'k' })
    await clock.advance(5 * second)
    assert.deepEqual(attempts, [1, 1, 1])
    assert.deepEqual(
      (await listOf(queue.failed())).map(({ message, error }) => [message, error.message]),
      [['fail', 'no']],
    )
  })
}

test('RetryError(null) is an alias of fail(); RetryError with a delay costs an attempt', async (t) => {
  const delays: (number | null)[] = [10, null]
  const { clock, queue, tasks, task } = extendedBench(t, () => {
    throw new RetryError(delays.shift()!, { cause: new Error('busy') })
  })
  await tasks.start()
  await tasks.enqueueTask(task, 1)
  await clock.advance(second)
  const [failed] = await listOf(queue.failed())
  assert.deepEqual([failed!.attempts, failed!.error.message], [2, 'busy'])
})
