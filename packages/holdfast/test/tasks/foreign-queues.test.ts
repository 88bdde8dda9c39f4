// Foreign queues: what they cannot carry is refused, durations come in the form that they take, and batches say what was sent.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BatchInterruptedError, createTasks, type MessageQueue, type TaskEnqueueOptions } from 'holdfast/tasks'
import { listOf } from '../../../conformance/src/message-queue/queue-case.ts'
import { anything, recordEvents, recordingKv, recordingQueue } from './fakes.ts'

function bench(queue: MessageQueue, kv = recordingKv('setIfAbsent')) {
  const tasks = createTasks({ queue, kv, logger: {} })
  const task = tasks.defineTask('mail', { schema: anything(), handler: () => {} })
  return { tasks, task, kv, events: recordEvents(tasks) }
}

const options: readonly (readonly [TaskEnqueueOptions, what: string])[] = [
  [{ priority: 1 }, 'priority'],
  [{ timeoutMs: 1_000 }, 'timeoutMs'],
  [{ expiresInMs: 1_000 }, 'expiresInMs'],
  [{ search: { a: 1 }, priority: 0 }, 'priority and search'],
]
for (const [given, what] of options) {
  test(`a foreign queue cannot carry ${what}: refused with a sentence, and nothing is sent or taken`, async () => {
    const queue = recordingQueue()
    const { tasks, task, kv } = bench(queue)
    const refused = {
      code: 'FEATURE_UNSUPPORTED',
      what,
      message: `task 'mail': its queue is not over a Holdfast storage, and cannot carry ${what}. Nothing was sent. Leave it out, or give the task a StorageMessageQueue.`,
    }
    await assert.rejects(tasks.enqueueTask(task, 1, { deduplicationKey: 'k', ...given }), refused)
    await assert.rejects(tasks.enqueueTaskMany(task, [1, 2], given), refused)
    assert.deepEqual([queue.sent.length, kv.calls.length], [0, 0])
  })
}

test('a word and its alias in job are not given together', async () => {
  const { tasks, task } = bench(recordingQueue())
  const both = { priority: 1, job: { priority: 2 } }
  await assert.rejects(tasks.enqueueTask(task, 1, both), { code: 'INVALID_ARGUMENT', message: /either priority or/ })
})

test('counts, failed, revive, get and cancel need a queue over a storage', async () => {
  const { tasks } = bench(recordingQueue())
  for (const [call, what] of [
    [() => tasks.getDepth(), 'getDepth()'],
    [() => tasks.counts(), 'counts()'],
    [() => listOf(tasks.failed()), 'failed()'],
    [() => tasks.revive(['id']), 'revive()'],
    [() => tasks.get('id'), 'get()'],
    [() => tasks.cancel('id'), 'cancel()'],
  ] as const) {
    await assert.rejects(call, { code: 'FEATURE_UNSUPPORTED', what })
  }
})

test('durations: a queue or store with the flag temporal gets Temporal.Duration, any other gets ms', async (t) => {
  // A stand-in, so that the test does not depend on the runtime.
  const own = Object.getOwnPropertyDescriptor(globalThis, 'Temporal')
  const Duration = { from: ({ milliseconds }: { milliseconds: number }) => ({ milliseconds, isTemporal: true }) }
  Object.defineProperty(globalThis, 'Temporal', { value: { Duration }, configurable: true })
  t.after(() => own && Object.defineProperty(globalThis, 'Temporal', own))
  for (const durations of ['ms', 'temporal'] as const) {
    const queue = Object.assign(recordingQueue(), { durations })
    const { tasks, task, kv } = bench(queue, Object.assign(recordingKv('setIfAbsent'), { durations }))
    await tasks.enqueueTask(task, 1, { delay: 'PT1S', deduplicationKey: 'k' })
    const expected = (ms: number) => (durations === 'ms' ? ms : { milliseconds: ms, isTemporal: true })
    assert.deepEqual(queue.sent[0]!.options, { delay: expected(1_000) })
    assert.deepEqual(kv.calls[0]!.args.at(-1), { ttl: expected(3_601_000) })
  }
  const wrong = Object.assign(recordingQueue(), { durations: 'seconds' as never })
  assert.throws(() => createTasks({ queue: wrong }), { code: 'INVALID_ARGUMENT', message: /'ms' or 'temporal'/ })
})

test('[F3] a queue without enqueueMany that fails in the middle: the error says how many were sent, and resume sends the rest', async () => {
  const queue = recordingQueue({ many: false })
  const { tasks, task, events } = bench(queue)
  const enqueue = queue.enqueue.bind(queue)
  const failure = new Error('unavailable')
  let calls = 0
  queue.enqueue = (...args) => (++calls === 3 ? Promise.reject(failure) : enqueue(...args))
  const error = await tasks.enqueueTaskMany(task, [0, 1, 2, 3]).then(
    () => assert.fail('it resolved'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof BatchInterruptedError)
  assert.deepEqual([error.accepted, error.total, error.cause], [2, 4, failure])
  assert.equal(events.length, 2)
  const { ids } = await tasks.enqueueTaskMany(task, [0, 1, 2, 3], { resume: error.resume })
  const sent = queue.sent.map(({ messages }) => messages[0] as { id: string; data: string })
  assert.deepEqual(
    sent.map(({ data }) => data),
    ['0', '1', '2', '3'],
  )
  assert.deepEqual(
    sent.map(({ id }) => id),
    ids,
  )
  queue.failure = failure
  await assert.rejects(tasks.enqueueTaskMany(task, [1, 2]), failure, 'nothing was sent: the queue’s own error')
})
