// Listeners and handlers of the user: their failures affect nothing else.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HoldfastError, Reaper } from 'holdfast'
import { bench, next, type TestDriver, until } from './driver.ts'
import { failing, faulty } from './faulty-storage.ts'
import { defaultType } from 'holdfast/storage'

/** Of a backoff: an error that is no job's own. */
const misfit = (): number => NaN

const isSet = (error: unknown): boolean => error instanceof HoldfastError && error.code === 'HANDLER_ALREADY_SET'

export function listenerTests(driver: TestDriver): void {
  describe(`${driver.name}: listeners`, () => {
    test('[Q4.45] without an error listener an error goes to logger.error, and is not thrown', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const logged: unknown[][] = []
      const queue = newQueue({ backoff: misfit, logger: { error: (...args) => logged.push(args) } })
      queue.execute(() => assert.fail('x'))
      await queue.start()
      await queue.enqueue('a', 1)
      await until(() => logged.length > 0)
      const [data, message] = logged[0] as [{ err: Error }, string]
      assert.match(data.err.message, /^backoff: expected/)
      assert.equal(message, data.err.message)
    })

    test('[Q4.45] with one, only there', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const logged: unknown[] = []
      const queue = newQueue({ backoff: misfit, logger: { error: (data) => logged.push(data) } })
      queue.execute(() => assert.fail('x'))
      const error = next(queue, 'error')
      await queue.start()
      await queue.enqueue('a', 1)
      assert.match((await error)[0].message, /^backoff: expected/)
      assert.deepEqual(logged, [])
    })

    for (const logger of [undefined, {}, { info: () => {} }]) {
      test(`[Q4.45] without a listener and without logger.error it is a warning of the process: ${JSON.stringify(logger)}`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const warnings = collectWarnings(t, /^backoff: expected/)
        const queue = newQueue({ backoff: misfit, logger })
        queue.execute(() => assert.fail('x'))
        await queue.start()
        await queue.enqueue('a', 1)
        await until(() => warnings.length > 0)
      })
    }

    test('[Q4.45] a logger that throws affects nothing else', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const logger = { error: () => assert.fail('a broken logger') }
      const queue = newQueue({ backoff: () => 1, afterExecution: () => assert.fail('a broken hook'), logger })
      queue.execute(() => 'done')
      await queue.start()
      assert.equal(await queue.enqueueAndWait('a', 1), 'done')
    })

    for (const [what, fail] of [
      ['throws', () => assert.fail('a broken listener')],
      ['rejects', () => Promise.reject(new Error('a broken listener'))],
    ] as const) {
      test(`[Q4.45] a listener that ${what} is reported as an error; all else goes on`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const queue = newQueue()
        const errors: Error[] = []
        const heard: string[] = []
        queue.on('error', (error) => errors.push(error))
        for (const event of ['started', 'enqueued', 'completed', 'stopped'] as const) {
          queue.on(event, () => fail() as never)
          queue.on(event, () => void heard.push(event))
        }
        queue.execute(() => 'done')
        await queue.start()
        assert.equal(await queue.enqueueAndWait('a', 1), 'done')
        assert.equal(await queue.enqueueAndWait('b', 1), 'done')
        await queue.stop()
        await until(() => errors.length === 6)
        assert.deepEqual([heard.at(0), heard.at(-1)], ['started', 'stopped'])
        assert.deepEqual(heard.slice(1, -1).toSorted(), ['completed', 'completed', 'enqueued', 'enqueued'])
        for (const error of errors) {
          assert.match(
            error.message,
            /^event '\w+': a listener failed: a broken listener\. The job and other listeners are not affected\.$/,
          )
          assert.equal((error.cause as Error).message, 'a broken listener')
        }
      })
    }

    test('[Q4.45] an error listener that throws is told to the logger', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const logged: Error[] = []
      const logger = { error: (data: object) => void logged.push((data as { err: Error }).err) }
      const queue = newQueue({ backoff: misfit, maxRetries: 2, logger })
      queue.on('error', () => assert.fail('a broken listener'))
      queue.execute((job) => (job.attempts === 1 ? assert.fail('x') : 'done'))
      await queue.start()
      assert.equal(await queue.enqueueAndWait('a', 1), 'done')
      assert.equal(logged.length, 1)
      assert.equal((logged[0]!.cause as Error).message, 'a broken listener')
    })

    test('[Q4.45] a listener of once is called once', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      let calls = 0
      queue.once('completed', () => void calls++)
      queue.execute(() => 1)
      await queue.start()
      await queue.enqueueAndWait('a', 1)
      await queue.enqueueAndWait('b', 1)
      assert.equal(calls, 1)
    })

    test('[Q4.45] the same for a Reaper: errors to the logger, else a warning; broken listeners reported', async (t) => {
      const { storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('recover', failing())
      const logged: Error[] = []
      const logger = { error: (data: object) => void logged.push((data as { err: Error }).err) }
      const reapers = [
        new Reaper({ storage: line.storage, checkInterval: 10, logger }),
        new Reaper({ storage: line.storage, checkInterval: 10 }),
        new Reaper({ storage: line.storage, checkInterval: 10, logger }),
      ]
      t.after(() => Promise.all(reapers.map((reaper) => reaper.stop())))
      const warnings = collectWarnings(t, /recover/)
      reapers[2]!.on('error', () => assert.fail('a broken listener'))
      await Promise.all(reapers.map((reaper) => reaper.start()))
      await until(() => logged.some(({ message }) => message.includes('recover')))
      await until(() => logged.some(({ message }) => message.startsWith("event 'error': a listener failed")))
      await until(() => warnings.length > 0)
    })

    test('[Q4.45] a Reaper goes on after a stalled listener that throws', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      await queue.start()
      for (const id of ['a', 'b']) await queue.enqueue(id, 1)
      await storage.claim({ worker: 'dead/1', slots: 2, types: [{ type: defaultType, leaseMs: 60_000 }] })
      const reaper = new Reaper({ storage, visibilityTimeout: 30 })
      t.after(() => reaper.stop())
      const [stalled, errors]: [string[], Error[]] = [[], []]
      reaper.on('stalled', () => assert.fail('a broken listener'))
      reaper.on('stalled', (id) => void stalled.push(id))
      reaper.on('error', (error) => void errors.push(error))
      await reaper.start()
      await until(() => stalled.length === 2)
      assert.deepEqual(stalled.toSorted(), ['a', 'b'])
      assert.equal(errors.length, 2)
    })

    test('[Q4.46] [trap 18] execute a second time throws, before and after start, and after stop; the first handler stays', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      const again = () => queue.execute(() => 'second')
      queue.execute(() => 'first')
      assert.throws(again, isSet)
      await queue.start()
      assert.throws(again, isSet)
      assert.equal(await queue.enqueueAndWait('a', 1), 'first')
      await queue.stop()
      assert.throws(again, isSet)
      await queue.start()
      assert.equal(await queue.enqueueAndWait('b', 1), 'first')
    })
  })
}

/** The warnings of the process that fit, from now on. */
function collectWarnings(t: { after(run: () => void): void }, message: RegExp): Error[] {
  const warnings: Error[] = []
  const listener = (warning: Error): void => {
    if (message.test(warning.message)) warnings.push(warning)
  }
  process.on('warning', listener)
  t.after(() => process.off('warning', listener))
  return warnings
}
