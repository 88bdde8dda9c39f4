// Options of one job that every face has: priority, ordered groups, deduplication keys, deadlines.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JobCancelledError, JobFailedError, JobNotFoundError } from 'holdfast'
import { bench, countAdds, duplicate, gate, next, type TestDriver, until } from './driver.ts'
import { rejectsInput, watched } from './watched.ts'

export function jobOptionTests(driver: TestDriver): void {
  describe(`${driver.name}: options of one job`, () => {
    test('[F2] jobs of a higher priority start first, and a retry keeps its priority', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<number, void>()
      await queue.enqueue('low', 1, { priority: -100 })
      await queue.enqueue('normal', 1)
      await queue.enqueue('high', 2, { priority: 100 })
      const seen: string[] = []
      queue.execute(({ id, attempts, payload }) => {
        seen.push(id)
        if (attempts < payload) throw new Error('again')
      })
      await queue.start()
      await until(() => seen.length === 4)
      assert.deepEqual(seen, ['high', 'high', 'normal', 'low'])
      assert.equal((await queue.get('low'))?.priority, -100)
    })

    test('[F21] jobs of an ordered group run one at a time, in the order of acceptance, across retries', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<number, void>({ concurrency: 4, backoff: { type: 'fixed', delayMs: 5 } })
      const group = { key: 'account 7', ordered: true } as const
      for (const id of ['a', 'b', 'c']) await queue.enqueue(id, 1, { group })
      const seen: string[] = []
      let running = 0
      queue.execute(async ({ id, attempts }) => {
        seen.push(id)
        assert.equal(++running, 1)
        await new Promise((resolve) => setImmediate(resolve))
        running--
        if (id === 'a' && attempts === 1) throw new Error('once more')
      })
      await queue.start()
      await until(() => seen.length === 4)
      assert.deepEqual(seen, ['a', 'a', 'b', 'c'])
      assert.equal((await queue.get('c'))?.group, 'account 7')
    })

    test('[F5] a job that is not started in time: cancelled, expired; its waiter learns it', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<string, string>()
      const waiting = queue.enqueueAndWait('a', '', { expiresInMs: 30 })
      const expectation = assert.rejects(waiting, (error) => {
        assert.ok(error instanceof JobCancelledError)
        assert.deepEqual([error.jobId, error.reason], ['a', 'expired'])
        assert.match(error.message, /not started within expiresInMs/)
        return true
      })
      await queue.enqueue('b', '')
      await until(async () => (await queue.get('a')) !== null)
      const { createdAt, deadlineAt } = (await queue.get('a'))!
      assert.equal(deadlineAt, createdAt + 30)
      await until(() => Date.now() > deadlineAt!)
      const seen: string[] = []
      queue.execute(({ id }) => {
        seen.push(id)
        return id
      })
      await queue.start()
      await expectation
      const status = await queue.getStatus('a')
      assert.deepEqual([status?.state, status?.reason, status?.attempts], ['cancelled', 'expired', 0])
      await until(() => seen.includes('b'))
      assert.ok(!seen.includes('a'))
      assert.deepEqual(await queue.enqueue('a', ''), { status: 'queued' })
    })

    test('[F5] a deadline is for the first start: a retry may come later', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<string, string>({ backoff: { type: 'fixed', delayMs: 150 } })
      queue.execute(({ attempts }) => {
        if (attempts === 1) throw new Error('later')
        return 'done'
      })
      await queue.start()
      assert.equal(await queue.enqueueAndWait('a', '', { expiresInMs: 100 }), 'done')
      assert.equal((await queue.get('a'))?.deadlineAt, undefined)
    })

    test('[F25] a second job with the key: a duplicate with the id and state of the first, until that has ended', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<string, string>()
      const deduplication = { key: 'report of May' }
      assert.deepEqual(await queue.enqueue('a', '', { deduplication, delayMs: 60_000 }), { status: 'queued' })
      assert.deepEqual(await queue.enqueue('b', '', { deduplication }), duplicate('a', 'scheduled'))
      assert.equal(await queue.getStatus('b'), null)
      assert.equal((await queue.get('a'))?.deduplicationKey, 'report of May')
      const others = await Promise.all(
        Array.from({ length: 20 }, (_, number) => queue.enqueue(`c${number}`, '', { deduplication: { key: 'other' } })),
      )
      assert.equal(others.filter(({ status }) => status === 'queued').length, 1)
      await queue.cancel('a')
      assert.deepEqual(await queue.enqueue('b', '', { deduplication }), { status: 'queued' })
    })

    test('[F25] throttle: for the window, even if the first has completed; its result belongs to its id', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<string, string>()
      queue.execute(({ id }) => `by ${id}`)
      await queue.start()
      const deduplication = { key: 'k', mode: 'throttle', windowMs: 600_000 } as const
      assert.equal(await queue.enqueueAndWait('a', '', { deduplication }), 'by a')
      assert.deepEqual(await queue.enqueue('b', '', { deduplication }), duplicate('a', 'completed'))
      assert.deepEqual(await queue.enqueue('a', '', { deduplication }), { status: 'completed', result: 'by a' })
      assert.equal(
        await queue.enqueueAndWait('b', '', { deduplication }),
        'by a',
        'a wait is for the holder of the key',
      )
    })

    test('[F25] a wait for a job whose record is gone, and only the window of its key is left: JobNotFoundError', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<string, string>()
      queue.execute(({ id }) => `by ${id}`)
      const deduplication = { key: 'k', mode: 'throttle', windowMs: 600_000 } as const
      await queue.enqueue('a', '', { deduplication, retention: { completed: { ageMs: 0 } } })
      const completed = next(queue, 'completed')
      await queue.start()
      await completed
      await assert.rejects(queue.enqueueAndWait('b', '', { deduplication }), JobNotFoundError)
    })

    test('[F25] enqueueAndWait with a key that another job holds waits for that job', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const added = countAdds(storage)
      const [queue, other] = [newQueue<string, string>({ maxAttempts: 1 }), newQueue<string, string>()]
      const [started, release] = [gate(), gate<string>()]
      queue.execute(async ({ id }) => {
        if (id === 'failing') throw new Error('never')
        started.resolve()
        return release.promise
      })
      await queue.start()
      const deduplication = { key: 'k' }
      await queue.enqueue('a', '', { deduplication })
      await started.promise
      const waits = [queue, other].map((each) => each.enqueueAndWait('b', '', { deduplication }))
      // After the job's own: both must have met the key while the job held it.
      await until(() => added() === 3)
      release.resolve('done')
      assert.deepEqual(await Promise.all(waits), ['done', 'done'])
      assert.equal(await queue.getStatus('b'), null)

      const failing = { deduplication: { key: 'f' }, delayMs: 50 }
      await queue.enqueue('failing', '', failing)
      await assert.rejects(other.enqueueAndWait('c', '', failing), (error) => {
        return error instanceof JobFailedError && error.jobId === 'failing'
      })
      await assert.rejects(other.enqueueAndWait('d', '', { ...failing, timeout: 0 }), { code: 'TIMEOUT', jobId: 'd' })
    })

    test('[F1] [F2] [F5] [F21] [F25] what is out of bounds is refused', async (t) => {
      const { queue, unmoved } = await watched(t, driver)
      const bad: readonly [name: string, values: readonly unknown[]][] = [
        ['priority', [-101, 101, 0.5, '1', null]],
        ['timeoutMs', [0, -1, 1.5, '1', null]],
        ['expiresInMs', [0, -1, 1.5, '1', null, Infinity]],
        ['group', ['', 'g'.repeat(513), null, 5]],
        ['weight', [0, -1, 1.5, '1', null, Infinity]],
        ['key', []],
        ['deduplication', ['k', null, 5]],
        ['search', ['k', null, 5]],
        ['onDuplicate', ['keep', null, true]],
      ]
      await unmoved(async () => {
        for (const [name, values] of bad) {
          for (const value of values) {
            await rejectsInput(name, value, () => queue.enqueue('new', 1, { [name]: value }))
            await rejectsInput(name, value, () => queue.enqueueAndWait('new', 1, { [name]: value }))
          }
        }
        const nested: readonly [name: string, options: object][] = [
          ['ordered', { group: { key: 'g', ordered: 'yes' } }],
          ['onFailure', { group: { key: 'g', onFailure: 'hold' } }],
          ['onFailure', { group: { key: 'g', ordered: true, onFailure: 'stop' } }],
          ['key', { group: { ordered: true } }],
          ['key', { group: { key: '', ordered: true } }],
          ['key', { deduplication: {} }],
          ['mode', { deduplication: { key: 'k', mode: 'last' } }],
          ['windowMs', { deduplication: { key: 'k', windowMs: 0 } }],
        ]
        for (const [name, options] of nested) {
          await rejectsInput(name, options, () => queue.enqueue('new', 1, options))
        }
      })
    })
  })
}
