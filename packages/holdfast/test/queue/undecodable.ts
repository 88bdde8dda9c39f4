// Payloads that cannot be decoded, and results that cannot be stored.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JobFailedError, SerializationError, type Serde } from 'holdfast'
import { bench, next, type TestDriver } from './driver.ts'

class Point {
  readonly x = 1
}

export function undecodableTests(driver: TestDriver): void {
  describe(`${driver.name}: undecodable`, () => {
    test('[Q4.32] a payload that cannot be decoded is a failed attempt, retried like any other', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      let runs = 0
      queue.execute(() => ++runs)
      await newQueue({ payloadSerde: text }).enqueue('bad', 'no JSON', { maxAttempts: 2 })
      const [failing, failed] = [next(queue, 'failing'), next(queue, 'failed')]
      await queue.start()
      const [, problem, attempt] = await failing
      assert.ok(problem instanceof SerializationError && problem.what === 'payload')
      assert.equal(attempt, 1)
      const [, error] = await failed
      assert.ok(error.lastError instanceof SerializationError)
      assert.equal(error.payload, undefined)
      const status = await queue.getStatus('bad')
      assert.deepEqual([status?.state, status?.attempts, status?.error?.code], ['failed', 2, 'SERIALIZATION_ERROR'])
      assert.equal(runs, 0)
    })

    test('[Q4.32] [trap 24] it does not delay the others, and a worker that can decode it runs it', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [queue, foreign] = [
        newQueue({ backoff: { type: 'fixed', delayMs: 500 } }),
        newQueue({ payloadSerde: text }),
      ]
      queue.execute((job) => job.payload)
      foreign.execute((job) => job.payload)
      await foreign.enqueue('bad', 'no JSON')
      const waits = Array.from({ length: 20 }, (_, index) => queue.enqueueAndWait(`good ${index}`, index))
      await queue.start()
      assert.deepEqual(
        await Promise.all(waits),
        waits.map((_, index) => index),
      )
      await queue.stop()
      const completed = next(foreign, 'completed')
      await foreign.start()
      assert.deepEqual(await completed, ['bad', 'no JSON'])
    })

    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    for (const [what, result] of [
      ['a class instance', new Point()],
      ['a cycle', cycle],
      ['a function', () => {}],
      ['a symbol', Symbol('x')],
    ] as const) {
      test(`[Q4.33] a result that cannot be serialised (${what}): failed at once`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const queue = newQueue()
        let runs = 0
        queue.execute(() => {
          runs++
          return result
        })
        const failed = next(queue, 'failed')
        await queue.start()
        await assert.rejects(queue.enqueueAndWait('a', 1, { maxAttempts: 5 }), (error) => {
          return error instanceof JobFailedError && error.details.code === 'SERIALIZATION_ERROR'
        })
        const [, error] = await failed
        assert.ok(error.lastError instanceof SerializationError && error.lastError.what === 'result')
        assert.equal((await queue.getStatus('a'))?.state, 'failed')
        assert.equal(runs, 1)
      })
    }

    test('[Q4.33] a result over maxResultBytes: failed at once with TOO_LARGE; one of just that size completes', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ maxResultBytes: 10 })
      const runs: string[] = []
      queue.execute((job) => {
        runs.push(job.id)
        return 'x'.repeat(job.payload as number)
      })
      await queue.start()
      assert.equal(await queue.enqueueAndWait('fits', 8), 'x'.repeat(8))
      await assert.rejects(queue.enqueueAndWait('too large', 9), (error) => {
        assert.ok(error instanceof JobFailedError)
        const { code, size, limit } = error.details
        assert.deepEqual([code, size, limit], ['TOO_LARGE', 11, 10])
        return true
      })
      assert.deepEqual(runs, ['fits', 'too large'])
    })
  })
}

/** No JSON. */
const text: Serde<unknown> = {
  serialize: (value) => Buffer.from(String(value)),
  deserialize: (bytes) => bytes.toString(),
}
