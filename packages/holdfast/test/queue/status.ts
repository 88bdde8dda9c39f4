// What getStatus says stays true through everything that can happen to a job.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bench, gate, type TestDriver, until } from './driver.ts'
import { faulty } from './faulty-storage.ts'

export function statusTests(driver: TestDriver): void {
  describe(`${driver.name}: status`, () => {
    test('[trap 15] createdAt stays, attempts count up, through failure, take-back, release and restart', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const producer = queue<string, string>({ maxRetries: 9 })
      await producer.enqueue('a', '', { delayMs: 500 })
      const first = (await producer.getStatus('a'))!
      assert.deepEqual([first.state, first.attempts], ['scheduled', 0])
      const { createdAt } = first
      const expectStatus = async (state: string, attempts: number): Promise<void> => {
        await until(async () => (await producer.getStatus('a'))!.state === state, state)
        const status = (await producer.getStatus('a'))!
        assert.deepEqual([status.attempts, status.createdAt, status.maxAttempts], [attempts, createdAt, 9], state)
      }

      // Fails once, and waits.
      const failing = queue<string, string>({ backoff: { type: 'fixed', delayMs: 500 } })
      failing.execute(({ attempts, createdAt: seen }) => {
        assert.deepEqual([attempts, seen], [1, createdAt])
        throw new Error('once more')
      })
      await failing.start()
      await expectStatus('failing', 1)
      await failing.stop()

      // Its worker dies.
      const line = faulty(storage)
      t.after(() => line.mend())
      const dead = queue<string, string>({ storage: line.storage, leaseMs: 100 })
      dead.on('error', () => {})
      dead.execute(() => {
        line.cut()
        return new Promise(() => {})
      })
      await dead.start()
      await expectStatus('processing', 2)

      // Taken back, run again, released by a stop, and run by the same queue after its restart.
      const last = queue<string, string>({ blockTimeout: 0.05 })
      const attempts: number[] = []
      const open = gate<string>()
      last.execute((job) => {
        assert.equal(job.createdAt, createdAt)
        attempts.push(job.attempts)
        return attempts.length === 1 ? new Promise(() => {}) : open.promise
      })
      await last.start()
      await until(() => attempts.length === 1)
      await expectStatus('processing', 3)
      await last.stop({ timeout: 0 })
      await expectStatus('queued', 2)
      await last.start()
      await until(() => attempts.length === 2)
      await expectStatus('processing', 3)
      open.resolve('done')
      await expectStatus('completed', 3)
      assert.deepEqual(attempts, [3, 3])
      line.mend()
    })

    test('[trap 26] results of 50 ms and of an hour side by side; a longer TTL given later counts', async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<string, string>({ concurrency: 3 })
      let runs = 0
      worker.execute(({ payload }) => {
        runs++
        return payload
      })
      await worker.start()
      await worker.enqueueAndWait('hour', '1', { resultTTL: 3_600_000 })
      await worker.enqueue('prolonged', '2', { resultTTL: 10_000 })
      await until(async () => (await worker.getStatus('prolonged'))!.state === 'completed')
      assert.deepEqual(await worker.updateResultTTL('prolonged', 3_600_000), { status: 'updated' })
      await worker.enqueue('short', '3', { resultTTL: 50 })
      await until(async () => runs === 3 && (await worker.getStatus('short')) === null)
      assert.equal(await worker.getResult('short'), null)
      assert.equal(await worker.getResult('hour'), '1')
      const { expiresAt, finishedAt } = (await worker.getStatus('prolonged'))!
      assert.ok(expiresAt! >= finishedAt! + 3_600_000)
      assert.deepEqual(await worker.enqueue('hour', ''), { status: 'completed', result: '1' })
      assert.deepEqual(await worker.enqueue('prolonged', ''), { status: 'completed', result: '2' })
      assert.deepEqual(await worker.enqueue('short', '4'), { status: 'queued' })
    })
  })
}
