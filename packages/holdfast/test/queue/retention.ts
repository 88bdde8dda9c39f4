// How long a job is kept after its end, where the ends differ.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { EnqueueOptions, Queue, RetentionOptions, Storage } from 'holdfast'
import { bench, next, type TestDriver, until } from './driver.ts'
import { defaultType } from 'holdfast/storage'

const hour = 3_600_000

async function keptAs(storage: Storage, id: string): Promise<number | undefined> {
  const [record] = await storage.get([{ type: defaultType, id }])
  return record && record.expiresAt! - record.finishedAt!
}

/** One job that completes, one that fails, one that is cancelled. */
async function endAll(queue: Queue<unknown, unknown>, options?: EnqueueOptions): Promise<void> {
  await queue.enqueue('cancelled', 0, options)
  await queue.cancel('cancelled')
  queue.execute(({ id }) => {
    if (id === 'failed') throw new Error('no')
  })
  const ends = [next(queue, 'completed'), next(queue, 'failed')]
  await queue.start()
  await queue.enqueue('completed', 0, options)
  await queue.enqueue('failed', 0, options)
  await Promise.all(ends)
}

export function retentionTests(driver: TestDriver): void {
  describe(`${driver.name}: retention`, () => {
    test('each end has its own age, on the queue', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const retention = { completed: { ageMs: 1 * hour }, failed: { ageMs: 2 * hour }, cancelled: { ageMs: 3 * hour } }
      await endAll(newQueue({ maxRetries: 1, retention }))
      assert.equal(await keptAs(storage, 'completed'), 1 * hour)
      assert.equal(await keptAs(storage, 'failed'), 2 * hour)
      assert.equal(await keptAs(storage, 'cancelled'), 3 * hour)
    })

    test('it wins over resultTTL beside it; an end that is not named keeps that', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      await endAll(newQueue({ maxRetries: 1, resultTTL: 5 * hour, retention: { failed: { ageMs: 7 * hour } } }))
      assert.equal(await keptAs(storage, 'completed'), 5 * hour)
      assert.equal(await keptAs(storage, 'failed'), 7 * hour)
      assert.equal(await keptAs(storage, 'cancelled'), 5 * hour)
    })

    test('what a job says wins over its queue, a resultTTL over a retention too', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue({ maxRetries: 1, retention: { failed: { ageMs: 7 * hour } } })
      await endAll(queue, { resultTTL: 2 * hour, retention: { cancelled: { ageMs: 9 * hour } } })
      assert.equal(await keptAs(storage, 'completed'), 2 * hour)
      assert.equal(await keptAs(storage, 'failed'), 2 * hour)
      assert.equal(await keptAs(storage, 'cancelled'), 9 * hour)
    })

    test('at age 0 the record is gone at its end and its id is free, hook or not', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const problems: Error[] = []
      let hooks = 0
      const retention = { completed: { ageMs: 0 }, failed: { ageMs: 0 }, cancelled: { ageMs: 0 } }
      const queue = newQueue({ maxRetries: 1, retention, afterExecution: () => void hooks++ })
      queue.on('error', (error) => problems.push(error))
      await endAll(queue)
      for (const id of ['completed', 'failed', 'cancelled']) {
        await until(async () => (await keptAs(storage, id)) === undefined, `${id} is gone`)
      }
      const again = next(queue, 'completed')
      assert.deepEqual(await queue.enqueue('completed', 0), { status: 'queued' })
      await again
      assert.equal(hooks, 3)
      assert.deepEqual(problems, [])
    })

    test('impossible ages are refused, on the queue and on a job', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const bad: unknown[] = [
        5,
        { done: { ageMs: 1 } },
        { completed: 5 },
        { completed: {} },
        { completed: { ageMs: -1 } },
        { completed: { ageMs: 1.5 } },
        { completed: { age: 1 } },
        { completed: { count: -1 } },
        { completed: { ageMs: 1, count: 1.5 } },
      ]
      const queue = newQueue()
      const code = 'INVALID_ARGUMENT'
      for (const value of bad) {
        const retention = value as RetentionOptions
        assert.throws(() => newQueue({ retention }), { code }, JSON.stringify(value))
        await assert.rejects(queue.enqueue('a', 0, { retention }), { code }, JSON.stringify(value))
      }
      assert.equal(await queue.getStatus('a'), null)
    })

    test('[F29] a count is an option of the queue, and refused for one job', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ retention: { failed: { count: 100 }, completed: { ageMs: 1, count: 0 } } })
      for (const value of [{ failed: { ageMs: 1, count: 100 } }, { failed: { count: 100 } }]) {
        const message = /^retention\.failed\.count: expected no count here: records are counted by type, .*, got 100$/
        const retention = value as RetentionOptions
        await assert.rejects(queue.enqueue('a', 0, { retention }), { code: 'INVALID_ARGUMENT', message })
      }
    })
  })
}
