// Cancels and take-backs that race with workers: many rounds, and never a half outcome.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JobCancelledError, Reaper } from 'holdfast'
import { sized } from '../full-size.ts'
import { bench, sleep, type TestDriver, until } from './driver.ts'

const [rounds, manyRounds] = [sized(500, 40), sized(1_000, 80)]

/** So many turns of the event loop: where a race is met differs from round to round. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

export function racingTests(driver: TestDriver): void {
  describe(`${driver.name}: races`, () => {
    test(`[trap 10] cancel and enqueue, ${rounds} times without a worker: only the new payloads run, in their new order`, async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<string, string>({ concurrency: 1 })
      const seen: string[] = []
      for (let round = 0; round < rounds; round++) await worker.enqueue(`j${round}`, 'old')
      // Backwards, so that the new place in the order shows.
      for (let round = rounds - 1; round >= 0; round--) {
        assert.deepEqual(await worker.cancel(`j${round}`), { status: 'cancelled' })
        assert.deepEqual(await worker.enqueue(`j${round}`, 'new'), { status: 'queued' })
      }
      worker.execute(({ id, payload }) => {
        seen.push(`${id} ${payload}`)
        return payload
      })
      await worker.start()
      await until(() => seen.length >= rounds)
      await turns(5)
      assert.deepEqual(
        seen,
        Array.from({ length: rounds }, (_, round) => `j${rounds - 1 - round} new`),
      )
    })

    test(`[trap 10] cancel and enqueue, ${rounds} times against a worker: a cancelled payload is never seen`, async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<string, string>({ concurrency: 10 })
      const seen = new Map<string, string[]>()
      worker.execute(({ id, payload }) => {
        seen.set(id, [...(seen.get(id) ?? []), payload])
        return payload
      })
      await worker.start()
      const producer = queue<string, string>()
      const expected = new Map<string, string>()
      for (let round = 0; round < rounds; round++) {
        const id = `j${round}`
        await producer.enqueue(id, 'old')
        await turns(round % 4)
        const { status } = await producer.cancel(id)
        const again = await producer.enqueue(id, 'new')
        expected.set(id, status === 'cancelled' ? 'new' : 'old')
        assert.equal(again.status === 'queued', status === 'cancelled', `${status}, then ${again.status}`)
      }
      await until(() => seen.size === rounds)
      await turns(5)
      for (const [id, payload] of expected) assert.deepEqual(seen.get(id), [payload], id)
    })

    test(`[trap 11] a cancel against a worker, ${manyRounds} times: cancelled exactly when no handler began`, async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<number>({ concurrency: 5 })
      const began = new Set<string>()
      worker.execute(({ id }) => void began.add(id))
      await worker.start()
      const producer = queue<number>()
      const answers = new Map<string, string>()
      for (let round = 0; round < manyRounds; round++) {
        const id = `j${round}`
        await producer.enqueue(id, round)
        await turns(round % 4)
        answers.set(id, (await producer.cancel(id)).status)
      }
      // Of all: one that was leased when it was to be cancelled may begin after the last one has ended.
      for (const id of answers.keys()) {
        await until(async () => {
          const { state } = (await producer.getStatus(id))!
          return state === 'completed' || state === 'cancelled'
        })
      }
      await worker.stop()
      const cancelled = [...answers.values()].filter((status) => status === 'cancelled').length
      for (const [id, status] of answers) assert.equal(began.has(id), status !== 'cancelled', `${id}: ${status}`)
      t.diagnostic(`${cancelled} of ${manyRounds} cancelled in time`)
    })

    test('[trap 12] a cancelled failing job never starts again; those who wait learn of it at once', async (t) => {
      const { queue } = await bench(t, driver)
      // For both queues: whichever enqueues first decides how often it may fail.
      const oftenEnough = { maxRetries: 1_000_000 }
      const worker = queue<string>(oftenEnough)
      let cancelled = false
      let startedAfter = 0
      let runs = 0
      let others = 0
      worker.execute(async ({ id }) => {
        await sleep(1)
        if (id === 'a') {
          runs++
          if (cancelled) startedAfter++
          throw new Error('again')
        }
        if (!cancelled) await worker.enqueue(`other ${++others}`, '')
      })
      await worker.start()
      // There are always some that wait, and a retry goes behind them: so it is often to be met between two runs.
      while (others < 10) await worker.enqueue(`other ${++others}`, '')
      const here = worker.enqueueAndWait('a', '')
      const elsewhere = queue<string>(oftenEnough).enqueueAndWait('a', '')
      const waits = Promise.allSettled([here, elsewhere])
      await until(() => runs >= 3)
      await until(async () => {
        cancelled = (await worker.cancel('a')).status === 'cancelled'
        return cancelled
      })
      const began = performance.now()
      for (const wait of await waits) {
        assert.ok(wait.status === 'rejected' && wait.reason instanceof JobCancelledError)
      }
      assert.ok(performance.now() - began < 4_000, 'by the hint: the poll underneath looks every 5 s')
      await sleep(50)
      assert.equal(startedAfter, 0)
      assert.equal((await worker.getStatus('a'))!.state, 'cancelled')
    })

    test(`[trap 34] take-back races settle, ${manyRounds} times: no run after completed, as many runs as attempts`, async (t) => {
      const { queue, storage } = await bench(t, driver)
      const worker = queue<number, string>({ concurrency: 50, maxRetries: 1_000, leaseMs: 10_000 })
      const runs = new Map<string, number>()
      const completed = new Map<string, number>()
      const problems: string[] = []
      worker.on('completed', (id) => completed.set(id, (completed.get(id) ?? 0) + 1))
      worker.on('error', (error) => problems.push(error.message))
      worker.execute(async ({ id, attempts }) => {
        if (completed.has(id)) problems.push(`${id} began after it had completed`)
        runs.set(id, (runs.get(id) ?? 0) + 1)
        if (runs.get(id) !== attempts) problems.push(`${id}: run ${runs.get(id)} is attempt ${attempts}`)
        await sleep(10 + 20 * Math.random())
        return 'done'
      })
      const reapers = [1, 2, 3].map(() => new Reaper({ storage, visibilityTimeout: 25, checkInterval: 2 }))
      t.after(() => Promise.all(reapers.map((reaper) => reaper.stop())))
      const stalls: string[] = []
      for (const reaper of reapers) {
        reaper.on('stalled', (id) => stalls.push(id))
        await reaper.start()
      }
      await worker.start()
      // Under load every run may be longer than the limit: then the Reapers leave, so that the rest can end. Or the Reapers come so late
      // that all runs have ended: then there are more.
      let jobs = 0
      const patience = setTimeout(() => void Promise.all(reapers.map((reaper) => reaper.stop())), 3_000)
      do {
        const first = jobs
        jobs += manyRounds
        await Promise.all(Array.from({ length: manyRounds }, (_, n) => worker.enqueue(`j${first + n}`, n)))
        await until(() => completed.size === jobs)
      } while (stalls.length === 0 && jobs < 20 * manyRounds)
      clearTimeout(patience)
      await Promise.all(reapers.map((reaper) => reaper.stop()))
      await sleep(30)
      assert.deepEqual(problems, [])
      let total = 0
      for (const [id, count] of runs) {
        const status = await worker.getStatus(id)
        assert.equal(status!.attempts, count, id)
        assert.equal(completed.get(id), 1, id)
        total += count
      }
      assert.equal(stalls.length, total - jobs, 'each further run was a stall, told once')
      assert.ok(stalls.length > 0, 'the race was met')
    })
  })
}
