// What is over leaves nothing behind.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Serde, Storage } from 'holdfast'
import { sizeOf } from '../full-size.ts'
import { bench, type TestDriver, until } from './driver.ts'

import { defaultType } from 'holdfast/storage'

export function growthTests(driver: TestDriver): void {
  const many = sizeOf(10_000, driver.name, { memory: 4_000, postgres: 1_500, else: 2_500 })

  describe(`${driver.name}: growth`, () => {
    test('[trap 36] three attempts of a hundred jobs with bytes that are no JSON leave no copy', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const raw: Serde<Buffer> = { serialize: (bytes) => bytes, deserialize: (bytes) => bytes }
      const worker = queue<Buffer, Buffer>({ payloadSerde: raw, resultSerde: raw, maxRetries: 3, concurrency: 7 })
      let runs = 0
      worker.execute(({ attempts, payload }) => {
        runs++
        if (attempts < 3) throw new Error('once more')
        return payload
      })
      await worker.start()
      const results = await Promise.all(
        Array.from({ length: 100 }, (_, n) => worker.enqueueAndWait(`j${n}`, payloadOf(n), { resultTTL: 2_000 })),
      )
      results.forEach((result, n) => assert.deepEqual(result, payloadOf(n)))
      assert.equal(runs, 300)
      const [counts] = (await storage.count({ types: [defaultType] })).types
      assert.equal(counts!.due + counts!.delayed + counts!.states.processing, 0)
      await isEmptyAfterSweep(storage)
    })

    test(`[trap 38] ${many} jobs that end, fail, retry and are cancelled: after the sweep all is as before`, async (t) => {
      const { queue, storage } = await bench(t, driver)
      const worker = queue<string, string>({ concurrency: 100, maxRetries: 2, resultTTL: 50 })
      worker.execute(({ payload, attempts }) => {
        if (payload.startsWith('bad') || (payload.startsWith('flaky') && attempts === 1)) throw new Error('no')
        return payload
      })
      await worker.start()
      const ballast = 'x'.repeat(500)
      const round = async (from: number, count: number): Promise<void> => {
        const all: Promise<unknown>[] = []
        for (let n = from; n < from + count; n++) {
          const kind = ['good', 'bad', 'flaky', 'cancelled', 'awaited'][n % 5]!
          const id = `j${n}`
          if (kind === 'awaited') {
            // Its result may have expired before it could be read.
            all.push(worker.enqueueAndWait(id, kind + ballast).catch(isNotFound))
          } else if (kind === 'cancelled') {
            all.push(
              worker
                .enqueue(id, kind + ballast, { delayMs: 60_000 })
                .then(() => worker.cancel(id))
                .then(() => worker.enqueue(id, kind + ballast, { delayMs: 60_000 }))
                .then(() => worker.cancel(id)),
            )
          } else {
            all.push(worker.enqueue(id, kind + ballast))
          }
        }
        await Promise.all(all)
        await until(async () => {
          const { types } = await storage.count({ types: [defaultType] })
          return types.every(({ due, delayed, states }) => due + delayed + states.processing === 0)
        })
      }
      // A few hundred calls at a time: a busy server answers thousands of them later than a call may take.
      const rounds = async (from: number, to: number): Promise<void> => {
        for (let at = from; at < to; at += 250) await round(at, Math.min(250, to - at))
      }
      await rounds(0, 500)
      await isEmptyAfterSweep(storage)
      const before = await heapUsed()
      await rounds(500, 500 + many)
      await isEmptyAfterSweep(storage)
      const grown = (await heapUsed()) - before
      // The payloads alone have 500 bytes each.
      assert.ok(grown < 500 * many, `${Math.round(grown / 1000)} kB more than before`)
    })
  })
}

const payloadOf = (n: number): Buffer => Buffer.from([0, 255, 123, n])

function isNotFound(error: { code?: string }): void {
  assert.equal(error.code, 'JOB_NOT_FOUND')
}

/** Sweeps until everything that may go is gone, and sees that nothing else is there. */
async function isEmptyAfterSweep(storage: Storage): Promise<void> {
  const types = [{ type: defaultType, leaseMs: 1_000 }]
  await until(async () => (await storage.list({ of: 'jobs', limit: 10 })).items.length === 0, 'the end of every record')
  // Nothing is left to read; what is left to sweep goes now.
  while ((await storage.sweep({ limit: 10_000 })).more);
  for (const { states } of (await storage.count({})).types) {
    assert.ok(Object.values(states).every((count) => count === 0))
  }
  assert.equal(await storage.nextDueAt(types), undefined)
  assert.deepEqual(await storage.sweep({ limit: 10 }), { jobs: 0, ended: [], marks: 0, entries: 0, more: false })
}

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

async function heapUsed(): Promise<number> {
  for (let turn = 0; turn < 5; turn++) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}
