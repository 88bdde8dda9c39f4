// The order in which jobs start.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bench, gate, sleep, type TestDriver, until } from './driver.ts'
import { defaultType } from 'holdfast/storage'

export function orderTests(driver: TestDriver): void {
  describe(`${driver.name}: order`, () => {
    const ids = Array.from({ length: 60 }, (_, index) => `job ${index}`)

    test('[Q4.28] jobs start in the order of adding, one by one or in one tick', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      for (const id of ids.slice(0, 10)) await queue.enqueue(id, 1)
      await Promise.all(ids.slice(10).map((id) => queue.enqueue(id, 1)))
      const started: string[] = []
      queue.execute((job) => started.push(job.id))
      await queue.start()
      await until(() => started.length === ids.length)
      assert.deepEqual(started, ids)
    })

    test('[Q4.28] also with several slots', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      // On a busy machine handlers take longer than prefetchMs: jobs that were held ahead and given back start later.
      const queue = newQueue({ concurrency: 7, prefetchMs: false })
      await Promise.all(ids.map((id) => queue.enqueue(id, 1)))
      const started: string[] = []
      queue.execute(async (job) => {
        started.push(job.id)
        await sleep(Number(job.id.slice(4)) % 3)
      })
      await queue.start()
      await until(() => started.length === ids.length)
      assert.deepEqual(started, ids)
    })

    test('[Q4.28] two workers share one line', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      // What one of them holds ahead, and gives back, would start later than what the other has by then.
      const [one, other] = [newQueue({ prefetchMs: false }), newQueue({ prefetchMs: false })]
      await Promise.all(ids.map((id) => one.enqueue(id, 1)))
      let ended = 0
      for (const queue of [one, other]) {
        queue.execute(async () => {
          await sleep(1)
          ended++
        })
      }
      await Promise.all([one.start(), other.start()])
      await until(() => ended === ids.length)
      await until(async () => (await one.getStatus(ids.at(-1)!))?.state === 'completed')
      const records = await storage.get(ids.map((id) => ({ type: defaultType, id })))
      const startedAt = records.map((record) => record!.startedAt!)
      // Where two claims run side by side, the one that passed over the other's job may have begun first.
      const apart = storage.driver === 'postgres' ? 2 : 1
      for (let index = apart; index < ids.length; index++) assert.ok(startedAt[index - apart]! <= startedAt[index]!)
    })

    test('[Q4.28] in the order in which they became due, not in that of adding', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      // After all of them were added, on a busy machine, too.
      const soon = Date.now() + 2_000
      await queue.enqueue('third', 1, { runAt: soon + 20 })
      await queue.enqueue('first', 1, { runAt: soon })
      await queue.enqueue('now', 1)
      await queue.enqueue('second', 1, { runAt: soon + 10 })
      // All are due when the worker looks for the first time.
      await until(async () => (await queue.getStatus('third'))?.state === 'queued')
      await queue.enqueue('later', 1)
      const started: string[] = []
      queue.execute((job) => started.push(job.id))
      await queue.start()
      await until(() => started.length === 5)
      assert.deepEqual(started, ['now', 'first', 'second', 'third', 'later'])
    })

    test('[Q4.28] those due at one instant, in the order of adding', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      const runAt = Date.now() + 60
      for (const id of ['c', 'a', 'b', 'd']) await queue.enqueue(id, 1, { runAt })
      const started: string[] = []
      queue.execute((job) => started.push(job.id))
      await queue.start()
      await until(() => started.length === 4)
      assert.deepEqual(started, ['c', 'a', 'b', 'd'])
    })

    test('[Q4.28] a worker that sleeps wakes when a job becomes due', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue({ blockTimeout: 60 })
      queue.execute(() => 1)
      await queue.start()
      await queue.enqueue('a', 1, { delayMs: 100 })
      await until(async () => (await queue.getStatus('a'))?.state === 'completed')
      const [record] = await storage.get([{ type: defaultType, id: 'a' }])
      assert.ok(record!.startedAt! >= record!.createdAt + 100)
    })

    test('[Q4.28] [Q4.30] [trap 21] a retry starts behind all that waited then', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ backoff: 'none' })
      for (const id of ['a', 'b', 'c']) await queue.enqueue(id, 1)
      const started: string[] = []
      const added = gate()
      queue.execute(async (job) => {
        started.push(`${job.id}${job.attempts}`)
        if (started.length === 1) await added.promise
        if (job.attempts < 3) throw new Error('again')
      })
      await queue.start()
      await queue.enqueue('d', 1)
      added.resolve()
      await until(() => started.length === 12)
      assert.deepEqual(started, ['a1', 'b1', 'c1', 'd1', 'a2', 'b2', 'c2', 'd2', 'a3', 'b3', 'c3', 'd3'])
    })
  })
}
