// Idle workers and waits: none takes a job with it when it stops, and none misses one.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sizeOf } from '../full-size.ts'
import { bench, gate, type TestDriver, until } from './driver.ts'

export function idleWorkerTests(driver: TestDriver): void {
  describe(`${driver.name}: idle workers`, () => {
    test('[trap 2] a handler that never ends: stop returns, and another worker runs the job as its first attempt', async (t) => {
      const { queue } = await bench(t, driver)
      const first = queue<string, number>()
      const began = gate()
      first.execute(() => {
        began.resolve()
        return new Promise(() => {})
      })
      await first.start()
      const second = queue<string, number>({ blockTimeout: 30 })
      const waited = second.enqueueAndWait('a', '')
      await began.promise
      second.execute(({ attempts }) => attempts)
      await second.start()
      await first.stop({ timeout: 50 })
      assert.equal(await waited, 1)
      assert.equal((await second.getStatus('a'))!.attempts, 1)
    })

    const rounds = sizeOf(100, driver.name, { memory: 100, else: 20 })
    test(`[trap 30] an idle worker that is stopped takes no job with it, ${rounds} times`, async (t) => {
      const { queue } = await bench(t, driver)
      // It polls too rarely to find by itself what the other might have taken.
      const stayer = queue<number, string>({ blockTimeout: 60, leaseMs: 60_000, visibilityTimeout: 120_000 })
      stayer.execute(({ attempts }) => `stayer ${attempts}`)
      await stayer.start()
      const leaver = queue<number, string>({ blockTimeout: 60, leaseMs: 60_000, visibilityTimeout: 120_000 })
      leaver.execute(({ attempts }) => `leaver ${attempts}`)
      const producer = queue<number, string>()
      const results = new Set<string>()
      for (let round = 0; round < rounds; round++) {
        await leaver.start()
        const before = round % 2 === 0 ? leaver.stop() : undefined
        const waited = producer.enqueueAndWait(`j${round}`, round, { timeout: 10_000 })
        const after = before ?? leaver.stop()
        results.add(await waited)
        await after
      }
      for (const result of results) assert.match(result, /^(stayer|leaver) 1$/)
      assert.ok(results.has('stayer 1'))
    })

    test('[trap 42] waits of 4 ms that end while jobs come: all jobs run, once', async (t) => {
      const { queue } = await bench(t, driver)
      const seen: string[] = []
      const workers = [1, 2, 3, 4].map(() => queue<number>({ blockTimeout: 0.004, concurrency: 2 }))
      for (const worker of workers) {
        worker.execute(({ id }) => void seen.push(id))
        await worker.start()
      }
      const producer = queue<number>()
      for (let n = 0; n < 300; n++) {
        await producer.enqueue(`j${n}`, n)
        if (n % 10 === 0) await new Promise((resolve) => setTimeout(resolve, n % 7))
      }
      await until(() => seen.length >= 300)
      // Those who lost a race go on looking.
      await producer.enqueueAndWait('last', 0)
      assert.equal(new Set(seen).size, 301)
      assert.equal(seen.length, 301)
    })

    test('[trap 29] three that wait for the same 40 ids all get all results', async (t) => {
      const { queue } = await bench(t, driver)
      const ids = Array.from({ length: 40 }, (_, n) => `j${n}`)
      const readers = [1, 2, 3].map(() => queue<string, string>())
      const waits = readers.flatMap((reader) => ids.map((id) => reader.enqueueAndWait(id, id, { timeout: 10_000 })))
      const worker = queue<string, string>({ concurrency: 5 })
      let runs = 0
      worker.execute(({ payload }) => {
        runs++
        return payload
      })
      await worker.start()
      assert.deepEqual(await Promise.all(waits), [...ids, ...ids, ...ids])
      assert.equal(runs, 40)
    })

    test('[trap 33] of two that wait for one id, the one that gives up takes nothing from the other', async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<string, string>({ concurrency: 2 })
      const open = gate<string>()
      worker.execute(() => open.promise)
      await worker.start()
      const patient = [worker.enqueueAndWait('a', '', { timeout: 5_000 })]
      for (const other of [worker, queue<string, string>()]) {
        await assert.rejects(other.enqueueAndWait('a', '', { timeout: 50 }), { code: 'TIMEOUT', timeout: 50 })
        const leaving = new AbortController()
        const aborted = assert.rejects(other.enqueueAndWait('a', '', { signal: leaving.signal }), {
          name: 'AbortError',
        })
        leaving.abort()
        await aborted
        patient.push(other.enqueueAndWait('a', '', { timeout: 5_000 }))
      }
      open.resolve('done')
      assert.deepEqual(await Promise.all(patient), ['done', 'done', 'done'])
    })
  })
}
