// What a handler's ways of ending make of its job.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Backoff, JobFailedError, type JobHandler } from 'holdfast'
import { bench, gate, next, sleep, type TestDriver, until } from './driver.ts'
import { defaultType } from 'holdfast/storage'

type Handler = JobHandler<unknown, unknown>

export function handlerTests(driver: TestDriver): void {
  describe(`${driver.name}: handler`, () => {
    const successes: [what: string, handler: Handler, result: unknown][] = [
      ['a plain return', () => 5, 5],
      ['nothing', () => {}, undefined],
      ['a promise', async () => ({ a: 1 }), { a: 1 }],
      ['a callback at once', (_, callback) => callback(null, 'x'), 'x'],
      ['a callback with undefined for the error', (_, callback) => callback(undefined as never, 'x'), 'x'],
      ['a callback later', (_, callback) => void setTimeout(() => callback(null, 'x'), 5), 'x'],
      ['a callback without a result', (_, callback) => callback(null), undefined],
      ['async, and a callback', async (_, callback) => callback(null, 'x'), 'x'],
    ]
    for (const [what, handler, result] of successes) {
      test(`[Q4.29] completed by ${what}`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const queue = newQueue()
        queue.execute(handler)
        const completed = next(queue, 'completed')
        await queue.start()
        assert.deepEqual(await queue.enqueueAndWait('a', 1), result)
        assert.deepEqual(await completed, ['a', result])
        assert.equal((await queue.getStatus('a'))?.attempts, 1)
      })
    }

    test('[Q4.29] the handler is given the job', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      queue.execute(({ id, payload, attempts, maxAttempts, createdAt, signal }) => ({
        seen: [id, payload, attempts, maxAttempts, signal.aborted],
        createdAt,
      }))
      await queue.start()
      const result = (await queue.enqueueAndWait('a', { n: 1 })) as { seen: unknown[]; createdAt: number }
      assert.deepEqual(result.seen, ['a', { n: 1 }, 1, 3, false])
      assert.equal(result.createdAt, (await queue.getStatus('a'))?.createdAt)
    })

    const failures: [what: string, handler: Handler, message: string][] = [
      ['throws', () => assert.fail('x'), 'x'],
      ['rejects', async () => assert.fail('x'), 'x'],
      ['calls back with an error', (_, callback) => callback(new Error('x')), 'x'],
      ['throws a string', () => fling('x'), 'x'],
      ['throws undefined', () => fling(undefined), 'undefined'],
      ['throws null', () => fling(null), 'null'],
      ['rejects with a number', () => Promise.reject(5), '5'],
      ['calls back with false', (_, callback) => callback(false as never), 'false'],
      ['throws in callback style', calledBack(() => fling(new Error('x'))), 'x'],
    ]
    for (const [what, handler, message] of failures) {
      test(`[Q4.30] a handler that ${what}: failing while attempts are left, then failed`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const queue = newQueue({ maxRetries: 2 })
        queue.execute(handler)
        const said: unknown[] = []
        queue.on('failing', (id, error, attempt) => said.push(['failing', id, error.message, attempt]))
        queue.on('failed', (id, error) => said.push(['failed', id, error.lastError.message, error.attempts]))
        await queue.start()
        await assert.rejects(queue.enqueueAndWait('a', 1), JobFailedError)
        await until(() => said.length === 2)
        assert.deepEqual(said, [
          ['failing', 'a', message, 1],
          ['failed', 'a', message, 2],
        ])
        const status = await queue.getStatus('a')
        assert.deepEqual([status?.state, status?.attempts, status?.error?.message], ['failed', 2, message])
      })
    }

    test('[Q4.30] a failing job is due after the backoff', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue({ backoff: { type: 'fixed', delayMs: 5_000 } })
      queue.execute(() => fling(new Error('x')))
      const failing = next(queue, 'failing')
      await queue.start()
      await queue.enqueue('a', 1)
      await failing
      const status = await queue.getStatus('a')
      const [record] = await storage.get([{ type: defaultType, id: 'a' }], { parts: ['attempts'] })
      assert.equal(status?.state, 'failing')
      assert.equal(status.runAt! - record!.attempts![0]!.endedAt, 5_000)
    })

    const firsts: [what: string, handler: Handler, expected: string][] = [
      ['called back twice', twice([null, 'first'], [null, 'second']), 'completed first'],
      ['a result, then an error', twice([null, 'first'], [new Error('second')]), 'completed first'],
      ['an error, then a result', twice([new Error('first')], [null, 'second']), 'failed first'],
      [
        'a result, then a throw',
        (_, callback) => (callback(null, 'first'), fling(new Error('second'))),
        'completed first',
      ],
      [
        'an error, then a throw',
        (_, callback) => (callback(new Error('first')), fling(new Error('second'))),
        'failed first',
      ],
      [
        'a throw, then a result',
        (_, callback) => (setTimeout(callback, 2, null, 'second'), fling(new Error('first'))),
        'failed first',
      ],
      ['a rejection', calledBack(async () => fling(new Error('first'))), 'failed first'],
      [
        'a rejection, then a result',
        async (_, callback) => (setTimeout(callback, 2, null, 'second'), fling(new Error('first'))),
        'failed first',
      ],
      [
        'a result, then a rejection',
        async (_, callback) => (callback(null, 'first'), fling(new Error('second'))),
        'completed first',
      ],
      [
        'a resolution, then a result',
        async (_, callback) => (setTimeout(callback, 20, null, 'first'), 'second'),
        'completed first',
      ],
      [
        'a resolution, then an error',
        async (_, callback) => (setTimeout(callback, 20, new Error('first')), 'second'),
        'failed first',
      ],
    ]
    for (const [what, handler, expected] of firsts) {
      test(`[Q4.31] callback style: ${what}`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const queue = newQueue({ maxRetries: 1 })
        let runs = 0
        queue.execute((job, callback) => {
          runs++
          return handler(job, callback)
        })
        const errors: Error[] = []
        queue.on('error', (error) => errors.push(error))
        await queue.start()
        const outcome = await queue.enqueueAndWait('a', 1).then(
          (result) => `completed ${result as string}`,
          (error: unknown) => `failed ${(error as JobFailedError).details.message}`,
        )
        assert.equal(outcome, expected)
        await sleep(30)
        assert.equal((await queue.getStatus('a'))?.state, expected.split(' ')[0])
        assert.deepEqual([runs, errors], [1, []])
      })
    }

    test('[Q4.31] a resolution alone is no outcome: the job stays in processing', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      const called = gate<(error: Error | null, result?: unknown) => void>()
      queue.execute(async (_, callback) => called.resolve(callback))
      await queue.start()
      const wait = queue.enqueueAndWait('a', 1)
      const callback = await called.promise
      await sleep(30)
      assert.equal((await queue.getStatus('a'))?.state, 'processing')
      callback(null, 'done')
      assert.equal(await wait, 'done')
    })

    const misfits: [what: string, backoff: Backoff][] = [
      ['throws', () => fling(new Error('x'))],
      ['returns NaN', () => NaN],
      ['returns Infinity', () => Infinity],
      ['returns -1', () => -1],
      ['returns nothing', () => undefined as never],
      ["returns '5'", () => '5' as never],
      ['returns a promise', () => Promise.resolve(5) as never],
    ]
    for (const [what, backoff] of misfits) {
      test(`[Q4.34] a backoff that ${what}: an error event, and the default delay`, async (t) => {
        const { queue: newQueue, storage } = await bench(t, driver)
        const queue = newQueue({ backoff })
        queue.execute(() => fling(new Error('x')))
        const errors: Error[] = []
        queue.on('error', (error) => errors.push(error))
        const failing = next(queue, 'failing')
        await queue.start()
        await queue.enqueue('a', 1)
        await failing
        assert.equal(errors.length, 1)
        assert.match(errors[0]!.message, /backoff/)
        const [record] = await storage.get([{ type: defaultType, id: 'a' }], { parts: ['attempts'] })
        const delay = record!.runAt - record!.attempts![0]!.endedAt
        assert.ok(delay >= 800 && delay <= 1_000, `after ${delay} ms`)
      })
    }
  })
}

function fling(thrown: unknown): never {
  throw thrown
}

/** Declares the callback, and does not use it. */
function calledBack(run: () => unknown): Handler {
  return Object.defineProperty(() => run(), 'length', { value: 2 })
}

function twice(one: Parameters<Parameters<Handler>[1]>, two: Parameters<Parameters<Handler>[1]>): Handler {
  return (_, callback) => {
    callback(...one)
    setTimeout(() => callback(...two), 2)
  }
}
