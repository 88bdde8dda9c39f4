// Where a storage keeps its jobs: places do not meet, and of what is over nothing is left in tables, keys and files.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Queue, type Serde } from 'holdfast'
import type { ProcessDriver } from '../processes/drivers.ts'
import { until } from './driver.ts'
import { leftIn } from './left-in.ts'

const raw: Serde<Buffer> = { serialize: (bytes) => bytes, deserialize: (bytes) => bytes }

export function placeTests(driver: ProcessDriver): void {
  describe(`${driver.name}: places`, { concurrency: true }, () => {
    test('[Q4.07] one id in two places, and under two names in one of them: each is a job of its own', async (t) => {
      const [here, there] = [await driver.open(), await driver.open()]
      const shared = here.storage()
      const queues = [
        new Queue<string, string>({ storage: shared }),
        new Queue<string, string>({ storage: shared, name: 'other' }),
        new Queue<string, string>({ storage: there.storage() }),
      ]
      t.after(async () => {
        await Promise.all(queues.map((queue) => queue.stop()))
        await Promise.all([here.close(), there.close()])
      })
      for (const [n, queue] of queues.entries()) {
        assert.deepEqual(await queue.enqueue('same', `payload ${n}`), { status: 'queued' })
      }
      await queues[1]!.cancel('same')
      assert.deepEqual(await queues[1]!.enqueue('same', 'another'), { status: 'queued' })
      const ran: string[] = []
      for (const [n, queue] of queues.entries()) {
        queue.execute(({ payload }) => {
          ran.push(payload)
          return `result ${n}`
        })
        await queue.start()
      }
      for (const [n, queue] of queues.entries()) {
        assert.equal(await queue.enqueueAndWait('same', '', { timeout: 60_000 }), `result ${n}`)
      }
      assert.deepEqual(ran.toSorted(), ['another', 'payload 0', 'payload 2'])
    })

    test('[trap 36] [trap 38] 6 MB of jobs that fail twice, complete, fail or are cancelled: nothing is left of them', async (t) => {
      const place = await driver.open()
      t.after(() => place.close())
      const storage = place.storage()
      await storage.connect()
      const queue = new Queue<Buffer, Buffer>({
        storage,
        payloadSerde: raw,
        resultSerde: raw,
        backoff: 'none',
        maxRetries: 3,
        concurrency: 10,
        resultTTL: 20,
        // What workers note of themselves, and the figures of the last days, stay after the jobs.
        presenceMs: false,
      })
      t.after(() => queue.stop())
      queue.execute(({ id, attempts, payload }) => {
        if (attempts < 3 || id.startsWith('bad')) throw new Error('once more')
        return payload
      })
      await queue.start()
      const ended = { completed: 0, failed: 0 }
      queue.on('completed', () => void ended.completed++)
      queue.on('failed', () => void ended.failed++)
      const payload = Buffer.alloc(30_000, 255)
      for (let n = 1; n <= 50; n++) {
        await Promise.all([
          queue.enqueue(`good-${n}`, payload),
          queue.enqueue(`bad-${n}`, payload),
          ...['one', 'two'].map(async (name) => {
            await queue.enqueue(`${name}-${n}`, payload, { delayMs: 600_000 })
            await queue.cancel(`${name}-${n}`)
          }),
        ])
        // At most a few of them are alive at once.
        await until(() => ended.completed === n && ended.failed === n, 'all have ended')
        await storage.sweep({ limit: 1_000 })
      }
      await until(async () => (await storage.list({ of: 'jobs', limit: 1 })).items.length === 0, 'all have expired')
      while ((await storage.sweep({ limit: 1_000 })).more);
      // Files keep some spare ones for as long as they are open.
      await queue.stop()
      await storage.disconnect()
      assert.deepEqual(await leftIn(place.spec), [])
    })
  })
}
