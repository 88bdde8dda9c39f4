// What operators do with tasks over a real storage: count, list the failed ones, revive, read and cancel; and the options of a job.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createTasks, type TasksOptions } from 'holdfast/tasks'
import { listOf } from '../../../conformance/src/message-queue/queue-case.ts'
import type { ProcessDriver } from '../processes/drivers.ts'
import { until } from '../queue/driver.ts'
import { anything, recordEvents } from './fakes.ts'

async function bench(t: TestContext, driver: ProcessDriver, options: TasksOptions = {}) {
  const place = await driver.open()
  const storage = place.storage()
  const tasks = createTasks({ storage, maxAttempts: 2, backoff: 'none', logger: {}, ...options })
  t.after(async () => {
    await tasks[Symbol.asyncDispose]()
    await place.close()
  })
  return { tasks, storage, events: recordEvents(tasks) }
}

export function operationTests(driver: ProcessDriver): void {
  const on = `on ${driver.name}`

  test(`failed, revive and counts of tasks made with the storage alone ${on}`, async (t) => {
    const { tasks } = await bench(t, driver)
    let isBroken = true
    const runs: unknown[] = []
    const task = tasks.defineTask('mail', {
      schema: anything(),
      handler: (_context, data) => {
        if (isBroken) throw new RangeError('no such address')
        runs.push(data)
      },
    })
    const data = { to: 'ada', at: new Date(0) }
    const { id } = await tasks.enqueueTask(task, data, { orderingKey: 'k' })
    await tasks.enqueueTask(task, 'later', { delayMs: 3_600_000 })
    assert.deepEqual(await tasks.getDepth(), { queued: 2, ready: 1, delayed: 1 })
    const waiting = await tasks.counts()
    assert.deepEqual([waiting.states.queued, waiting.states.scheduled, waiting.due, waiting.delayed], [1, 1, 1, 1])
    assert.ok(waiting.oldestDueAt! > 0)
    await tasks.start()
    await until(async () => (await tasks.counts()).states.failed === 1, 'it fails')
    const [failed, ...others] = await listOf(tasks.failed())
    assert.deepEqual(others, [])
    const { error, enqueuedAt, failedAt, ...rest } = failed!
    assert.deepEqual(rest, { id, task: 'mail', data, queue: 'default', attempts: 2, orderingKey: 'k' })
    assert.deepEqual([error.name, error.message, failedAt >= enqueuedAt], ['RangeError', 'no such address', true])
    isBroken = false
    const verdicts = await tasks.revive([id!, 'unknown'])
    assert.deepEqual(
      verdicts.map(({ verdict }) => verdict),
      ['revived', 'not_found'],
    )
    await until(() => runs.length === 1, 'it runs')
    assert.deepEqual(runs, [data])
    assert.deepEqual(await listOf(tasks.failed()), [])
  })

  test(`get ${on}: a task with its data, options, runs and error; null once it has completed`, async (t) => {
    const { tasks } = await bench(t, driver)
    const gate = Promise.withResolvers<void>()
    const task = tasks.defineTask('t', {
      schema: anything(),
      handler: async ({ attempt }) => {
        if (attempt === 1) throw new Error('first')
        await gate.promise
      },
    })
    const options = { priority: 7, timeoutMs: 60_000, search: { customer: 'c-42', total: 3 }, expiresInMs: 3_600_000 }
    const { id } = await tasks.enqueueTask(task, [1], options)
    const before = (await tasks.get(id!))!
    assert.deepEqual(
      [before.task, before.data, before.state, before.attempts, before.priority, before.timeoutMs, before.search],
      ['t', [1], 'queued', 0, 7, 60_000, options.search],
    )
    assert.ok(before.deadlineAt! > before.enqueuedAt)
    await tasks.start()
    await until(async () => (await tasks.get(id!))?.attempts === 2, 'its second run')
    const running = (await tasks.get(id!))!
    assert.deepEqual([running.state, running.error!.message, running.deadlineAt], ['processing', 'first', undefined])
    assert.deepEqual(
      running.history.map(({ attempt, outcome, state, error }) => [attempt, outcome, state, error!.message]),
      [[1, 'retry', 'failing', 'first']],
    )
    gate.resolve()
    await until(async () => (await tasks.get(id!)) === null, 'it is gone')
  })

  test(`[F17] cancel ${on}: waiting at once; running left alone, asked to stop, waited for, or by force`, async (t) => {
    const { tasks, events } = await bench(t, driver)
    const started: string[] = []
    const reasons: unknown[] = []
    const task = tasks.defineTask('long', {
      schema: anything(),
      handler: ({ id, signal }) =>
        new Promise<void>((_resolve, reject) => {
          started.push(id)
          signal.addEventListener('abort', () => {
            reasons.push((signal.reason as { code?: string }).code)
            reject(signal.reason as Error)
          })
        }),
    })
    const waiting = (await tasks.enqueueTask(task, 1, { delayMs: 3_600_000 })).id!
    assert.deepEqual(await tasks.cancel(waiting, { reason: 'changed my mind' }), { status: 'cancelled' })
    const cancelled = (await tasks.get(waiting))!
    assert.deepEqual([cancelled.state, cancelled.cancelReason], ['cancelled', 'changed my mind'])
    assert.deepEqual(await tasks.cancel('unknown'), { status: 'not_found' })

    await tasks.start()
    const running = (await tasks.enqueueTask(task, 2)).id!
    await until(() => started.includes(running), 'it runs')
    assert.deepEqual(await tasks.cancel(running), { status: 'processing' })
    assert.deepEqual(await tasks.cancel(running, { abort: true, reason: 'too long', waitMs: 60_000 }), {
      status: 'cancelled',
    })
    assert.equal((await tasks.get(running))!.cancelReason, 'too long')
    const forced = (await tasks.enqueueTask(task, 3)).id!
    await until(() => started.includes(forced), 'the next runs')
    assert.deepEqual(await tasks.cancel(forced, { force: true, reason: 'now' }), { status: 'cancelled' })
    assert.equal((await tasks.get(forced))!.cancelReason, 'now')
    const ended = () => events.filter(({ name }) => name !== 'enqueued' && name !== 'started').map(({ name }) => name)
    await until(() => ended().length === 2, 'both handlers were told')
    assert.deepEqual(ended(), ['cancelled', 'cancelled'])
    assert.deepEqual(reasons, ['JOB_CANCELLED', 'JOB_CANCELLED'])
    assert.equal((await tasks.counts()).states.cancelled, 3)
    assert.deepEqual(await tasks.revive([waiting]), [{ verdict: 'revived' }])
    // It may run already, and its handler would go on for the grace period of the stop.
    assert.deepEqual(await tasks.cancel(waiting, { force: true }), { status: 'cancelled' })
  })

  test(`[F2] a task with a higher priority runs first ${on}; [F5] one that was not started in time is cancelled`, async (t) => {
    const { tasks } = await bench(t, driver)
    const runs: unknown[] = []
    const task = tasks.defineTask('t', { schema: anything(), handler: (_context, data) => void runs.push(data) })
    const late = (await tasks.enqueueTask(task, 'late', { expiresInMs: 1 })).id!
    await tasks.enqueueTask(task, 'low', { priority: -5 })
    await tasks.enqueueTask(task, 'high', { priority: 5 })
    await tasks.enqueueTask(task, 'alias', { job: { priority: 9 } })
    const deadline = (await tasks.get(late))!.deadlineAt!
    await until(() => Date.now() > deadline, 'its time is over')
    await tasks.start()
    await until(() => runs.length === 3, 'they run')
    assert.deepEqual(runs, ['alias', 'high', 'low'])
    const { state, reason } = (await tasks.get(late))!
    assert.deepEqual([state, reason], ['cancelled', 'expired'])
  })

  test(`timeoutMs of an enqueue ${on} goes before that of the task, and the run is retried`, async (t) => {
    const { tasks, events } = await bench(t, driver, { timeoutMs: 3_600_000 })
    const task = tasks.defineTask('slow', {
      schema: anything(),
      handler: ({ signal }) =>
        new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    })
    await tasks.start()
    const { id } = await tasks.enqueueTask(task, 1, { timeoutMs: 20 })
    await until(async () => (await tasks.get(id!))?.state === 'failed', 'it fails')
    assert.equal((await tasks.get(id!))!.error!.code, 'ATTEMPT_TIMEOUT')
    assert.deepEqual(
      events.map(({ name }) => name),
      ['enqueued', 'started', 'retried', 'started', 'failed'],
    )
  })

  test(`[F30] search fields of a task ${on} are found by the storage`, async (t) => {
    const { tasks, storage } = await bench(t, driver)
    const task = tasks.defineTask('t', { schema: anything(), handler: () => {} })
    const { id } = await tasks.enqueueTask(task, 1, { search: { customer: 'c-42' } })
    await tasks.enqueueTask(task, 2, { search: { customer: 'c-43' } })
    const { items } = await storage.list({ of: 'jobs', where: { customer: 'c-42' }, limit: 10 })
    assert.deepEqual(
      items.map((item) => item.id),
      [id],
    )
    await assert.rejects(tasks.enqueueTask(task, 3, { search: { customer: null as never } }), {
      code: 'INVALID_ARGUMENT',
    })
  })
}
