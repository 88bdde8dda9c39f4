// Tasks with the deduplication modes debounce, followUp and ascending, over the storage's own queue.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createTasks, StorageMessageQueue } from 'holdfast/tasks'
import { until } from '../queue/driver.ts'
import type { ProcessDriver } from '../processes/drivers.ts'
import { anything, recordEvents, recordingQueue } from './fakes.ts'

const debounce = { key: 'k', mode: 'debounce', windowMs: 600_000 } as const
const version = (number: number) => ({ key: 'v', mode: 'ascending', version: number }) as const

async function bench(t: TestContext, driver: ProcessDriver) {
  const place = await driver.open()
  const queue = new StorageMessageQueue(place.storage())
  t.after(async () => {
    await queue.close()
    await place.close()
  })
  return { queue }
}

export function deduplicationModeTests(driver: ProcessDriver): void {
  test(`[F25] debounce and ascending per task on ${driver.name}: the last data runs once, a stale version is skipped`, async (t) => {
    const { queue } = await bench(t, driver)
    const tasks = createTasks({ queue })
    const runs: unknown[] = []
    const define = (name: string) =>
      tasks.defineTask(name, { schema: anything(), handler: (_context, data) => void runs.push(data) })
    const [task, other] = [define('mail'), define('other')]
    const events = recordEvents(tasks)
    const first = await tasks.enqueueTask(task, 1, { deduplication: debounce })
    const second = await tasks.enqueueTask(task, 2, { deduplication: debounce })
    assert.deepEqual(
      [first.status, second.status, second.id, second.state],
      ['enqueued', 'replaced', first.id, 'scheduled'],
    )
    // A key belongs to its task. Its longest wait is over at once.
    const soon = { ...debounce, maxWaitMs: 1 }
    assert.equal((await tasks.enqueueTask(other, 3, { deduplication: soon })).status, 'enqueued')
    assert.equal((await tasks.enqueueTask(task, 4, { deduplication: soon })).status, 'replaced')

    assert.equal((await tasks.enqueueTask(task, 5, { deduplication: version(7) })).status, 'enqueued')
    const stale = await tasks.enqueueTask(task, 6, { deduplication: version(7) })
    assert.deepEqual([stale.status, stale.deduplicated, stale.version, stale.id], ['stale', true, 7, undefined])
    assert.equal(events.filter(({ name }) => name === 'deduplicated').length, 1)
    await tasks.start()
    await until(() => runs.length === 3)
    await tasks.stop()
    assert.deepEqual(runs.toSorted(), [3, 4, 5])
  })

  test(`[F25] followUp on ${driver.name}: one more run after the one under way, with the last data`, async (t) => {
    const { queue } = await bench(t, driver)
    const tasks = createTasks({ queue })
    const [started, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const runs: unknown[] = []
    const task = tasks.defineTask('render', {
      schema: anything(),
      handler: async (_context, data) => {
        runs.push(data)
        started.resolve()
        if (data === 1) await release.promise
      },
    })
    const deduplication = { key: 'k', mode: 'followUp' } as const
    await tasks.enqueueTask(task, 1, { deduplication })
    assert.equal((await tasks.enqueueTask(task, 0, { deduplication })).status, 'duplicate')
    await tasks.start()
    await started.promise
    const follower = await tasks.enqueueTask(task, 2, { deduplication })
    const last = await tasks.enqueueTask(task, 3, { deduplication })
    assert.deepEqual(
      [follower.status, last.status, last.id, last.state],
      ['enqueued', 'replaced', follower.id, 'blocked'],
    )
    release.resolve()
    await until(() => runs.length === 2)
    await tasks.stop()
    assert.deepEqual(runs, [1, 3])
  })

  test(`[F25] what a mode does not allow is refused on ${driver.name}, and a queue that knows no modes`, async (t) => {
    const { queue } = await bench(t, driver)
    const tasks = createTasks({ queue })
    const task = tasks.defineTask('mail', { schema: anything(), handler: () => {} })
    const code = 'INVALID_ARGUMENT'
    const both = { deduplication: debounce, deduplicationKey: 'k' }
    await assert.rejects(tasks.enqueueTask(task, 1, both), {
      code,
      message: /either deduplication or deduplicationKey/,
    })
    const late = { deduplication: debounce, delayMs: 5 }
    await assert.rejects(tasks.enqueueTask(task, 1, late), { code, message: /delayMs.*debounce/ })
    await assert.rejects(tasks.enqueueTaskMany(task, [1], { deduplication: debounce }), { code, message: /batch/ })
    await assert.rejects(queue.enqueueMany([1, 2], { deduplication: debounce }), { code, message: /batch/ })
    const foreign = createTasks({ queue: recordingQueue({ nativeDeduplication: true }) })
    const there = foreign.defineTask('mail', { schema: anything(), handler: () => {} })
    await assert.rejects(foreign.enqueueTask(there, 1, { deduplication: debounce }), { code: 'FEATURE_UNSUPPORTED' })
  })
}
