// One id, many callers; and ids that come free at this very moment.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Clock, generateId } from 'holdfast'
import { sizeOf } from '../full-size.ts'
import { bench, type TestDriver, until } from './driver.ts'

export function duplicateTests(driver: TestDriver): void {
  describe(`${driver.name}: duplicates`, () => {
    // The part with processes and threads needs a driver that they can share.
    test('[trap 40] 100 enqueues of one id at once, by four queues: one is queued, none rejects, one run', async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<string, string>({ concurrency: 10 })
      const runs = new Map<string, number>()
      worker.execute(({ id, payload }) => {
        runs.set(id, (runs.get(id) ?? 0) + 1)
        return payload
      })
      await worker.start()
      const queues = [worker, queue<string, string>(), queue<string, string>(), queue<string, string>()]
      for (let round = 0; round < 20; round++) {
        const id = `id ${round}`
        const answers = await Promise.all(
          Array.from({ length: 100 }, (_, n) => queues[n % 4]!.enqueue(id, `payload ${n}`)),
        )
        const queued = answers.filter(({ status }) => status === 'queued').length
        assert.equal(queued, 1)
        const results = await Promise.all(queues.map((each) => each.enqueueAndWait(id, 'too late')))
        assert.equal(new Set(results).size, 1)
        assert.equal(runs.get(id), 1)
        assert.deepEqual(await queues[1]!.enqueue(id, ''), { status: 'completed', result: results[0] })
      }
    })

    const rounds = sizeOf(1_000, driver.name, { memory: 1_000, else: 150 })
    test(`[trap 31] an enqueue that meets the expiry of its id, ${rounds} times: queued means that it runs`, async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<number, number>({ resultTTL: 1 })
      const seen: number[] = []
      worker.execute(({ payload }) => {
        seen.push(payload)
        return payload
      })
      await worker.start()
      const producer = queue<number, number>({ resultTTL: 1 })
      const queued: number[] = []
      for (let round = 0; round < rounds; round++) {
        const answer = await producer.enqueue('same', round)
        if (answer.status === 'queued') queued.push(round)
        if (answer.status === 'completed') assert.equal(answer.result, queued.at(-1), 'the result of the last that ran')
        if (round % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      await until(() => seen.length === queued.length)
      assert.deepEqual(seen, queued)
      assert.ok(queued.length > 1, 'it did expire')
    })

    for (const [what, offset] of [
      ['an hour fast', 3_600_000],
      ['an hour slow', -3_600_000],
    ] as const) {
      test(`[trap 31] a worker whose clock is ${what} neither runs, keeps nor recovers anything by it`, async (t) => {
        const { queue } = await bench(t, driver)
        const honest = queue<string, string>()
        await honest.enqueue('later', '', { delayMs: 600_000 })
        await honest.enqueue('due', '', { resultTTL: 600_000 })
        const clock = wrongClock(offset)
        const worker = queue<string, string>({ clock, leaseMs: 600_000, visibilityTimeout: 1_200_000 })
        worker.execute(({ id }) => (id === 'held' ? new Promise(() => {}) : 'done'))
        await worker.start()
        assert.equal(await honest.enqueueAndWait('due', ''), 'done')
        assert.equal(await honest.getResult('due'), 'done')
        assert.deepEqual(await worker.enqueue('due', ''), { status: 'completed', result: 'done' })
        assert.equal((await honest.getStatus('later'))!.state, 'scheduled')
        await worker.enqueue('delayed', '', { delayMs: 600_000 })
        const { createdAt, runAt } = (await honest.getStatus('delayed'))!
        assert.equal(runAt, createdAt + 600_000)
        await worker.enqueue('held', '')
        await until(async () => (await honest.getStatus('held'))!.state === 'processing')
        const other = queue<string, string>({ clock: wrongClock(-offset), concurrency: 5 })
        other.execute(({ id }) => assert.fail(`it took ${id}`))
        await other.start()
        assert.equal((await honest.getStatus('held'))!.state, 'processing')
      })
    }
  })
}

/** The system's, but for the time of day. */
function wrongClock(offset: number): Clock {
  return {
    now: () => Date.now() + offset,
    monotonic: () => performance.now(),
    after: (ms, callback) => {
      const timer = setTimeout(callback, Math.min(ms, 2 ** 31 - 1))
      return { cancel: () => clearTimeout(timer) }
    },
    soon: (callback) => void setImmediate(callback),
    random: () => Math.random(),
    newId: generateId,
  }
}
