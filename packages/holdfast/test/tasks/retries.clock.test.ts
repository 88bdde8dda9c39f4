// `maxAttempts` and `backoff`, of the message queue, of createTasks and of a task, beside the retry policies that are their alias.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Backoff } from 'holdfast'
import { exponentialBackoff, type StorageMessageQueueOptions, type TasksOptions } from 'holdfast/tasks'
import type { FakeClock } from 'holdfast/testing'
import { listOf } from '../../../conformance/src/message-queue/queue-case.ts'
import { queueBench, second, tasksBench } from './clock-bench.ts'
import { anything } from './fakes.ts'

const fixed: Backoff = { type: 'fixed', delayMs: second }

/** A handler that always throws, and when it was called, in ms from now. */
function failingHandler(clock: FakeClock) {
  const startedAt: number[] = []
  const began = clock.now()
  const fail = (): never => {
    startedAt.push(clock.now() - began)
    throw new Error('always')
  }
  return { startedAt, fail }
}

const cases: readonly (readonly [StorageMessageQueueOptions, number[]])[] = [
  [{ maxAttempts: 1 }, [0]],
  [{ maxAttempts: 3, backoff: 'none' }, [0, 0, 0]],
  [{ maxAttempts: 3, backoff: fixed }, [0, 1_000, 2_000]],
  [{ maxAttempts: 3, backoff: { type: 'exponential', delayMs: 100, factor: 3, jitter: 0 } }, [0, 100, 400]],
  [{ maxAttempts: 3, backoff: (attempt) => attempt * 10 }, [0, 10, 30]],
  [{ retryPolicy: ({ attempt }) => (attempt < 3 ? 'PT1S' : null) }, [0, 1_000, 2_000]],
  [{ retryPolicy: exponentialBackoff({ maxAttempts: 2, initialDelay: 50, jitter: 0 }) }, [0, 50]],
]
for (const [options, expected] of cases) {
  test(`of the message queue: ${JSON.stringify(options)}`, async (t) => {
    const { clock, queue } = queueBench(t, options)
    const { startedAt, fail } = failingHandler(clock)
    await queue.consume(fail)
    await queue.enqueue('bad')
    await clock.advance(10 * second)
    assert.deepEqual(startedAt, expected)
    assert.equal((await listOf(queue.failed())).length, 1)
  })
}

test('the defaults: 10 runs, from 1 s on, doubled, up to half of it left to chance', async (t) => {
  const { clock, queue } = queueBench(t)
  const { startedAt, fail } = failingHandler(clock)
  await queue.consume(fail)
  await queue.enqueue('bad')
  await clock.advance(600 * second)
  assert.equal(startedAt.length, 10)
  startedAt.slice(1).forEach((at, index) => {
    const gap = at - startedAt[index]!
    assert.ok(gap >= 500 * 2 ** index && gap <= 1_000 * 2 ** index, `${gap} ms after run ${index + 1}`)
  })
})

test('a backoff function that throws is logged, and the default is used', async (t) => {
  const { clock, queue, logger } = queueBench(t, {
    maxAttempts: 2,
    backoff: () => {
      throw new Error('broken')
    },
  })
  const { startedAt, fail } = failingHandler(clock)
  await queue.consume(fail)
  await queue.enqueue('bad')
  await clock.advance(10 * second)
  assert.equal(startedAt.length, 2)
  assert.ok(startedAt[1]! >= 500, String(startedAt))
  assert.ok(logger.records.some(({ level, message }) => level === 'error' && message.includes('backoff')))
})

const levels: readonly (readonly [what: string, TasksOptions, object, number[]])[] = [
  ['of createTasks', { maxAttempts: 2, backoff: fixed }, {}, [0, 1_000]],
  ['of the task, over createTasks', { maxAttempts: 2, backoff: fixed }, { maxAttempts: 3 }, [0, 1_000, 2_000]],
  ['of both', { maxAttempts: 2, backoff: fixed }, { backoff: 'none' }, [0, 0]],
  ['of the task, over a policy', { taskRetryPolicy: () => 7 }, { maxAttempts: 2, backoff: fixed }, [0, 1_000]],
  ['a policy of the task', { maxAttempts: 5 }, { retryPolicy: () => null }, [0]],
  ['a policy of createTasks', { taskRetryPolicy: ({ attempt }) => (attempt < 3 ? 5 : null) }, {}, [0, 5, 10]],
]
for (const [what, given, ofTask, expected] of levels) {
  test(`of tasks: ${what}`, async (t) => {
    const { clock, tasks } = tasksBench(t, given)
    const { startedAt, fail } = failingHandler(clock)
    const task = tasks.defineTask('bad', { schema: anything(), handler: fail, ...ofTask })
    await tasks.start()
    await tasks.enqueueTask(task, 1)
    await clock.advance(10 * second)
    assert.deepEqual(startedAt, expected)
  })
}
