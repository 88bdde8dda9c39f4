// What enqueue answers, by what its id is at that moment.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { EnqueueResult, MessageState } from 'holdfast'
import { bench, next, sleep, type TestDriver, until, duplicate } from './driver.ts'
import { faulty, stumbling } from './faulty-storage.ts'
import { jobIn } from './states.ts'
import { defaultType } from 'holdfast/storage'

export function enqueueTests(driver: TestDriver): void {
  describe(`${driver.name}: enqueue`, () => {
    test('[Q4.01] an unknown id is queued', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ maxRetries: 7 })
      assert.deepEqual(await queue.enqueue('a', { n: 1 }), { status: 'queued' })
      const status = await queue.getStatus('a')
      assert.ok(status)
      const { createdAt, ...rest } = status
      assert.equal(typeof createdAt, 'number')
      assert.deepEqual(rest, { id: 'a', state: 'queued', attempts: 0, maxAttempts: 7 })
    })

    for (const [what, optionsAt] of [
      ['delayMs', () => ({ delayMs: 250 })],
      ['runAt, a number', () => ({ runAt: Date.now() + 250 })],
      ['runAt, a Date', () => ({ runAt: new Date(Date.now() + 250) })],
    ] as const) {
      test(`[Q4.01] with ${what} in the future it is queued too, reads as scheduled, and does not start early`, async (t) => {
        const { queue: newQueue, storage } = await bench(t, driver)
        const queue = newQueue()
        assert.deepEqual(await queue.enqueue('a', 1, optionsAt()), { status: 'queued' })
        const status = await queue.getStatus('a')
        assert.equal(status?.state, 'scheduled')
        const completed = next(queue, 'completed')
        queue.execute(() => 'done')
        await queue.start()
        await completed
        const [record] = await storage.get([{ type: defaultType, id: 'a' }])
        assert.ok(record!.startedAt! >= status.runAt!, `started at ${record!.startedAt}, due at ${status.runAt}`)
      })
    }

    test('[Q4.01] a job that has become due reads as queued', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      await queue.enqueue('a', 1, { delayMs: 20 })
      await until(async () => (await queue.getStatus('a'))?.state === 'queued')
      assert.equal((await queue.getStatus('a'))?.runAt, undefined)
    })

    test('[Q4.01] a runAt in the past is simply due', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      for (const [id, runAt] of [['a', 0] as const, ['b', new Date(1_000)] as const, ['c', -5] as const]) {
        assert.deepEqual(await queue.enqueue(id, 1, { runAt }), { status: 'queued' })
        assert.equal((await queue.getStatus(id))?.state, 'queued')
      }
    })

    for (const state of ['scheduled', 'queued', 'blocked', 'processing', 'failing'] satisfies MessageState[]) {
      test(`[Q4.02] an id that is ${state} is a duplicate, and nothing of the first changes`, async (t) => {
        const b = await bench(t, driver)
        const { queue, seen } = await jobIn(b, state)
        const look = () => b.storage.get([{ type: defaultType, id: 'x' }], { parts: ['payload', 'error'] })
        const before = await look()
        const enqueued: string[] = []
        queue.on('enqueued', (id) => enqueued.push(id))
        const other = { maxAttempts: 9, resultTTL: 5, delayMs: 5_000 }
        assert.deepEqual(await queue.enqueue('x', 'second', other), duplicate('x', state))
        assert.deepEqual(await look(), before)
        assert.equal(Buffer.from(before[0]!.payload!).toString(), '"first"')
        assert.ok(!seen.includes('second'))
        assert.deepEqual(enqueued, [])
      })
    }

    for (const result of [{ a: 1 }, undefined, null, '', 0, false]) {
      test(`[Q4.03] a completed id answers with its result: ${JSON.stringify(result)}`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const queue = newQueue()
        let runs = 0
        queue.execute(() => {
          runs++
          return result
        })
        const completed = next(queue, 'completed')
        await queue.start()
        await queue.enqueue('a', 'first')
        await completed
        assert.deepEqual(await queue.enqueue('a', 'first'), { status: 'completed', result })
        assert.deepEqual(await queue.enqueue('a', 'another payload', { maxAttempts: 5 }), {
          status: 'completed',
          result,
        })
        await sleep(20)
        assert.equal(runs, 1)
      })
    }

    test('[Q4.04] a completed id whose TTL is over is queued and runs anew', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      const payloads: unknown[] = []
      queue.execute((job) => payloads.push(job.payload))
      await queue.start()
      const first = next(queue, 'completed')
      await queue.enqueue('a', 'first', { resultTTL: 40 })
      await first
      const second = next(queue, 'completed')
      let answer: EnqueueResult<unknown> | undefined
      await until(async () => (answer = await queue.enqueue('a', 'second')).status !== 'completed')
      assert.deepEqual(answer, { status: 'queued' })
      await second
      assert.deepEqual(payloads, ['first', 'second'])
    })

    for (const state of ['failed', 'cancelled'] as const) {
      test(`[Q4.05] a ${state} id is queued at once, as a new job`, async (t) => {
        const b = await bench(t, driver)
        const { queue } = await jobIn(b, state)
        const first = await queue.getStatus('x')
        assert.equal(first?.state, state)
        await queue.stop()
        const other = b.queue()
        await sleep(5)
        assert.deepEqual(await other.enqueue('x', 'second', { maxAttempts: 8 }), { status: 'queued' })
        const status = await other.getStatus('x')
        assert.ok(status!.createdAt > first.createdAt)
        const { createdAt: _, ...rest } = status!
        assert.deepEqual(rest, { id: 'x', state: 'queued', attempts: 0, maxAttempts: 8 })
        const seen: unknown[] = []
        other.execute((job) => seen.push(job.payload, job.attempts))
        const completed = next(other, 'completed')
        await other.start()
        await completed
        assert.deepEqual(seen, ['second', 1])
        assert.equal((await other.getStatus('x'))?.error, undefined)
      })
    }

    test('[Q4.06] the same id twice in one tick: one is queued, the other a duplicate', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      const answers = await Promise.all([queue.enqueue('a', 1), queue.enqueue('a', 2)])
      assert.deepEqual(answers, [{ status: 'queued' }, duplicate('a', 'queued')])
    })

    test('[Q4.06] many callers of many queues, no worker: one is queued, none rejects', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queues = Array.from({ length: 5 }, () => newQueue())
      const answers = await Promise.all(
        queues.flatMap((queue) => Array.from({ length: 20 }, () => queue.enqueue('a', 1))),
      )
      assert.equal(answers.filter(({ status }) => status === 'queued').length, 1)
      assert.equal(answers.filter(({ status }) => status === 'duplicate').length, 99)
    })

    test('[Q4.06] many callers against running workers: each id is queued once and runs once', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const ids = Array.from({ length: 20 }, (_, index) => `job ${index}`)
      const runs = new Map<string, number>()
      const queues = Array.from({ length: 3 }, () => newQueue({ concurrency: 4 }))
      for (const queue of queues) {
        queue.execute((job) => void runs.set(job.id, (runs.get(job.id) ?? 0) + 1))
        await queue.start()
      }
      const queued = new Map<string, number>()
      const call = async (id: string, index: number): Promise<void> => {
        const { status } = await queues[index % 3]!.enqueue(id, index)
        if (status === 'queued') queued.set(id, (queued.get(id) ?? 0) + 1)
      }
      await Promise.all(Array.from({ length: 400 }, (_, index) => call(ids[index % 20]!, index)))
      await until(() => runs.size === 20)
      await sleep(20)
      for (const id of ids) assert.deepEqual([id, queued.get(id), runs.get(id)], [id, 1, 1])
    })

    test('[Q4.07] one id under two names is two jobs', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const names = ['a', 'a:b', 'A', 'default']
      const queues = names.map((name) => newQueue({ name }))
      for (const queue of queues) assert.deepEqual(await queue.enqueue('x', queue.name), { status: 'queued' })
      assert.deepEqual(await queues[0]!.cancel('x'), { status: 'cancelled' })
      const seen: unknown[] = []
      for (const queue of queues) {
        queue.execute((job) => void seen.push([queue.name, job.payload]))
        await queue.start()
      }
      await until(() => seen.length === 3)
      assert.deepEqual(
        seen.toSorted(),
        names
          .slice(1)
          .map((name) => [name, name])
          .toSorted(),
      )
      assert.equal((await queues[0]!.getStatus('x'))?.state, 'cancelled')
    })

    test('[Q4.07] one id in two storages is two jobs', async (t) => {
      const [one, other] = [(await bench(t, driver)).queue(), (await bench(t, driver)).queue()]
      assert.deepEqual(await one.enqueue('x', 1), { status: 'queued' })
      assert.deepEqual(await other.enqueue('x', 2), { status: 'queued' })
      await one.cancel('x')
      assert.equal((await other.getStatus('x'))?.state, 'queued')
    })

    test('[Q4.08] an add whose answer was lost, and which is sent again, is no duplicate of itself', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('add', stumbling(2, 'after'))
      const queue = newQueue({ storage: line.storage })
      const enqueued: string[] = []
      queue.on('enqueued', (id) => enqueued.push(id))
      const answers = await Promise.all([queue.enqueue('a', 1), queue.enqueue('b', 2), queue.enqueue('a', 3)])
      assert.deepEqual(
        answers.map(({ status }) => status),
        ['queued', 'queued', 'duplicate'],
      )
      assert.deepEqual(enqueued, ['a', 'b'])
      assert.equal(line.count('add'), 3)
    })

    test('[Q4.08] also when the job has run and ended before the repeat', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const worker = newQueue()
      let runs = 0
      worker.execute(() => ++runs)
      await worker.start()
      const completed = next(worker, 'completed')
      const line = faulty(storage)
      line.on('add', async (apply, call) => {
        if (call.number > 1) return apply()
        await apply()
        await completed
        return stumbling(1, 'before')(apply, call)
      })
      assert.deepEqual(await newQueue({ storage: line.storage }).enqueue('a', 1), { status: 'queued' })
      await sleep(20)
      assert.equal(runs, 1)
    })

    test('[Q4.01] the payload is what it was when enqueue was called', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      const payload = { n: 1, list: [1] }
      const added = queue.enqueue('a', payload)
      payload.n = 2
      payload.list.push(2)
      const wait = queue.enqueueAndWait('b', payload)
      payload.n = 3
      queue.execute((job) => job.payload)
      await Promise.all([added, queue.start()])
      assert.deepEqual(await queue.enqueueAndWait('a', 1), { n: 1, list: [1] })
      assert.deepEqual(await wait, { n: 2, list: [1, 2] })
    })

    test('[Q4.09] once it is acknowledged, the job is in the storage', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      await queue.enqueue('a', { n: 1 })
      await storage.connect()
      const [record] = await storage.get([{ type: defaultType, id: 'a' }], { parts: ['payload'] })
      assert.equal(record?.state, 'queued')
      assert.equal(Buffer.from(record.payload!).toString(), '{"n":1}')
      await queue.stop()
      const other = newQueue()
      const completed = next(other, 'completed')
      other.execute((job) => job.payload)
      await other.start()
      assert.deepEqual(await completed, ['a', { n: 1 }])
      await storage.disconnect()
    })
  })
}
