// What a job costs: calls to the storage, and bytes that cross to it. Counted, never timed.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bench, type TestDriver, until } from './driver.ts'
import { faulty } from './faulty-storage.ts'

export function costTests(driver: TestDriver): void {
  describe(`${driver.name}: cost`, () => {
    test('[trap 39] a request with its response costs at most five calls in all', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const both = queue<number, number>({ storage: line.storage, blockTimeout: 60, leaseMs: 60_000 })
      both.execute(({ payload }) => payload)
      await both.start()
      await both.enqueueAndWait('first', 0)
      const before = line.count()
      for (let n = 0; n < 100; n++) await both.enqueueAndWait(`j${n}`, n)
      const calls = line.calls.slice(before)
      assert.ok(calls.length <= 500, `${calls.length / 100} calls per job: ${tally(calls)}`)
    })

    test('[trap 39] many at once cost a fraction of a call each', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const worker = queue<number>({ storage: line.storage, concurrency: 100, blockTimeout: 60, leaseMs: 60_000 })
      let runs = 0
      worker.execute(() => void runs++)
      const producer = queue<number>({ storage: line.storage })
      await Promise.all(Array.from({ length: 2_000 }, (_, n) => producer.enqueue(`j${n}`, n)))
      const { addsPerCall = 1_000 } = storage.settings
      assert.ok(line.count('add') <= 2_000 / addsPerCall + 2, `${line.count('add')} adds`)
      await worker.start()
      await until(() => runs === 2_000)
      await worker.stop()
      assert.ok(line.count() <= 150, `${line.count()} calls for 2000 jobs: ${tally(line.calls)}`)
    })

    test('[trap 39] a payload crosses once in, and once out for each attempt; a result once in, once for each reader', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const size = 100_000
      const both = queue<string, string>({ storage: line.storage, maxRetries: 3, leaseMs: 900 })
      both.execute(async ({ attempts }) => {
        // Long enough for heartbeats.
        if (attempts === 1) await until(() => line.count('extend') > 1)
        if (attempts < 3) throw new Error('once more')
        return 'r'.repeat(size)
      })
      await both.start()
      assert.equal((await both.enqueueAndWait('a', 'p'.repeat(size))).length, size)
      const sent = new Map<string, number>()
      const received = new Map<string, number>()
      for (const { verb, args, answer } of line.calls) {
        if (bytesIn(args) > 0) sent.set(verb, (sent.get(verb) ?? 0) + Math.round(bytesIn(args) / size))
        if (bytesIn(answer) > 0) received.set(verb, (received.get(verb) ?? 0) + Math.round(bytesIn(answer) / size))
      }
      const results = (sent.get('claim') ?? 0) + (sent.get('settle') ?? 0)
      assert.deepEqual([sent.get('add'), results], [1, 1], 'sent')
      // A waiter in the process that completed the job has the result already, and reads nothing.
      const reads = received.get('get') ?? 0
      assert.deepEqual([received.get('claim'), reads <= 1], [3, true], `received, ${reads} reads`)
      for (const [verb, times] of [...sent, ...received]) {
        if (!['add', 'claim', 'settle', 'get'].includes(verb)) assert.equal(times, 0, verb)
      }
    })
  })
}

function tally(calls: readonly { readonly verb: string }[]): string {
  const counts: Record<string, number> = {}
  for (const { verb } of calls) counts[verb] = (counts[verb] ?? 0) + 1
  return JSON.stringify(counts)
}

/** All bytes anywhere inside. */
function bytesIn(value: unknown): number {
  if (value instanceof Uint8Array) return value.byteLength
  if (value === null || typeof value !== 'object') return 0
  return Object.values(value).reduce<number>((sum, item) => sum + bytesIn(item), 0)
}
