// enqueueAndWait: what it waits for, and what ends the wait.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JobCancelledError, JobFailedError, JobNotFoundError, TimeoutError } from 'holdfast'
import { bench, countAdds, gate, next, sleep, type TestDriver, until } from './driver.ts'
import { faulty } from './faulty-storage.ts'
import { jobIn } from './states.ts'
import { defaultType } from 'holdfast/storage'

export function waitTests(driver: TestDriver): void {
  describe(`${driver.name}: enqueueAndWait`, () => {
    test('[Q4.10] joins a job that waits: the result of the first payload, one execution', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [queue, other] = [newQueue(), newQueue()]
      await queue.enqueue('a', 'first')
      const waits = [queue.enqueueAndWait('a', 'second'), other.enqueueAndWait('a', 'third')]
      const seen: unknown[] = []
      queue.execute((job) => {
        seen.push(job.payload)
        return `done: ${job.payload}`
      })
      await queue.start()
      assert.deepEqual(await Promise.all(waits), ['done: first', 'done: first'])
      assert.deepEqual(seen, ['first'])
    })

    test('[Q4.10] joins a job that runs', async (t) => {
      const { queue, release, seen } = await jobIn(await bench(t, driver), 'processing')
      const wait = queue.enqueueAndWait('x', 'second')
      await sleep(10)
      release.resolve('done')
      assert.equal(await wait, 'done')
      assert.deepEqual(seen, ['first'])
    })

    test('[Q4.10] joins a job that waits for its next attempt', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ backoff: { type: 'fixed', delayMs: 60 } })
      queue.execute((job) => {
        if (job.attempts === 1) throw new Error('not yet')
        return job.attempts
      })
      await queue.start()
      const failing = next(queue, 'failing')
      await queue.enqueue('a', 'first')
      await failing
      assert.equal(await queue.enqueueAndWait('a', 'second'), 2)
    })

    for (const result of [{ a: 1 }, null, undefined]) {
      test(`[Q4.11] a completed id: its result at once, even with timeout 0: ${JSON.stringify(result)}`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const queue = newQueue()
        let runs = 0
        queue.execute(() => {
          runs++
          return result
        })
        await queue.start()
        await queue.enqueueAndWait('a', 1)
        await queue.stop()
        const other = newQueue()
        assert.deepEqual(await other.enqueueAndWait('a', 2, { timeout: 0 }), result)
        assert.deepEqual(await other.enqueueAndWait('a', 2), result)
        assert.equal(runs, 1)
      })
    }

    for (const state of ['failed', 'cancelled'] as const) {
      test(`[Q4.12] a ${state} id: a new job, and waits for that one`, async (t) => {
        const b = await bench(t, driver)
        const { queue } = await jobIn(b, state)
        await queue.stop()
        const other = b.queue()
        other.execute((job) => `done: ${job.payload}, ${job.attempts}`)
        await other.start()
        assert.equal(await other.enqueueAndWait('x', 'second'), 'done: second, 1')
      })
    }

    test('[Q4.13] a job that fails for good: JobFailedError; a failing attempt does not end the wait', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [worker, producer] = [newQueue(), newQueue()]
      worker.execute((job) => {
        throw Object.assign(new Error(`attempt ${job.attempts}`), { code: 'E_TEST' })
      })
      await worker.start()
      await assert.rejects(producer.enqueueAndWait('a', 1, { maxAttempts: 3 }), (error) => {
        assert.ok(error instanceof JobFailedError)
        assert.equal(error.message, "Job 'a' failed: attempt 3")
        assert.equal(error.attempts, 3)
        assert.equal(error.details.code, 'E_TEST')
        return true
      })
    })

    test('[Q4.13] a job that succeeds at its last attempt resolves', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      queue.execute((job) => {
        if (job.attempts < 3) throw new Error('not yet')
        return job.attempts
      })
      await queue.start()
      assert.equal(await queue.enqueueAndWait('a', 1, { maxAttempts: 3 }), 3)
    })

    for (const [what, options] of [
      ['queued', {}],
      ['scheduled', { delayMs: 600_000 }],
    ] as const) {
      test(`[Q4.13] [trap 12] a ${what} job that is cancelled: JobCancelledError, to every waiter`, async (t) => {
        const { queue: newQueue, storage } = await bench(t, driver)
        const added = countAdds(storage)
        const [one, other] = [newQueue(), newQueue()]
        const waits = [one.enqueueAndWait('a', 1, options), one.enqueueAndWait('a', 1), other.enqueueAndWait('a', 1)]
        const rejected = waits.map((wait) =>
          assert.rejects(wait, (error) => error instanceof JobCancelledError && error.jobId === 'a'),
        )
        // One that came after the cancel would be another job.
        await until(() => added() === waits.length)
        assert.deepEqual(await other.cancel('a'), { status: 'cancelled' })
        await Promise.all(rejected)
      })
    }

    test('[Q4.13] [Q4.21] a run that ends by abort: JobCancelledError', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      queue.execute(
        (job) => new Promise((_, reject) => job.signal.addEventListener('abort', () => reject(job.signal.reason))),
      )
      await queue.start()
      const wait = assert.rejects(queue.enqueueAndWait('a', 1), JobCancelledError)
      await until(async () => (await queue.getStatus('a'))?.state === 'processing')
      await queue.cancel('a', { abort: true })
      await wait
    })

    test('[Q4.14] a job that is removed: JobNotFoundError', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      const wait = assert.rejects(queue.enqueueAndWait('a', 1), (error) => {
        return error instanceof JobNotFoundError && error.jobId === 'a'
      })
      await until(async () => (await queue.getStatus('a')) !== null)
      await storage.remove([{ type: defaultType, id: 'a' }], { trees: true })
      await wait
    })

    for (const state of ['cancelled', 'failed', 'completed'] as const) {
      test(`[Q4.14] a ${state} job that is replaced before anybody looked: never the outcome of the later one`, async (t) => {
        const { queue: newQueue, storage } = await bench(t, driver)
        const replaced = gate()
        const line = faulty(storage)
        line.on('get', async (apply) => {
          await replaced.promise
          return apply()
        })
        const [waiter, worker] = [newQueue({ storage: line.storage }), newQueue()]
        worker.execute((job) => {
          if (job.payload === 'first' && state === 'failed') throw new Error('never')
          return job.payload
        })
        const wait = waiter
          .enqueueAndWait('x', 'first', { maxAttempts: 1, resultTTL: 1 })
          .catch((error: unknown) => error)
        await until(async () => (await worker.getStatus('x')) !== null)
        if (state === 'cancelled') await worker.cancel('x')
        await worker.start()
        await until(async () => (await worker.enqueue('x', 'second')).status === 'queued')
        await until(async () => (await worker.getResult('x')) === 'second')
        replaced.resolve()
        const end = await wait
        // A hint may have told its own outcome.
        const isOwn = state === 'completed' && end === 'first'
        assert.ok(isOwn || end instanceof JobNotFoundError, String(end))
      })
    }

    test('[Q4.15] a timeout: TimeoutError, and the job stays as it is', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      await assert.rejects(queue.enqueueAndWait('a', 1, { timeout: 300 }), (error) => {
        assert.ok(error instanceof TimeoutError)
        assert.equal(error.jobId, 'a')
        assert.equal(error.timeout, 300)
        return true
      })
      assert.equal((await queue.getStatus('a'))?.state, 'queued')
      queue.execute((job) => job.payload)
      const completed = next(queue, 'completed')
      await queue.start()
      assert.deepEqual(await completed, ['a', 1])
    })

    test('[Q4.15] a run goes on when its waiter gives up', async (t) => {
      const b = await bench(t, driver)
      const { queue, release } = await jobIn(b, 'processing')
      await assert.rejects(queue.enqueueAndWait('x', 2, { timeout: 20 }), TimeoutError)
      const completed = next(queue, 'completed')
      release.resolve('done')
      assert.deepEqual(await completed, ['x', 'done'])
    })

    test('[Q4.16] timeout 0 adds, and looks once', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      await assert.rejects(queue.enqueueAndWait('a', 1, { timeout: 0 }), TimeoutError)
      assert.equal((await queue.getStatus('a'))?.state, 'queued')
      await assert.rejects(queue.enqueueAndWait('a', 1, { timeout: 0 }), TimeoutError)
    })

    test('[Q4.16] timeout Infinity has no deadline', async (t) => {
      const { queue, release } = await jobIn(await bench(t, driver), 'processing')
      const wait = queue.enqueueAndWait('x', 1, { timeout: Infinity })
      await sleep(50)
      release.resolve('done')
      assert.equal(await wait, 'done')
    })

    test('[Q4.16] a signal that aborts: its reason, and the job stays', async (t) => {
      const { queue, release } = await jobIn(await bench(t, driver), 'processing')
      const controller = new AbortController()
      const wait = queue.enqueueAndWait('x', 1, { signal: controller.signal })
      const reason = { why: 'the user left' }
      setTimeout(() => controller.abort(reason), 10)
      await assert.rejects(wait, (error) => (error as unknown) === reason)
      assert.equal((await queue.getStatus('x'))?.state, 'processing')
      const completed = next(queue, 'completed')
      release.resolve('done')
      await completed
    })

    test('[Q4.16] a signal aborted beforehand: nothing is added', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      const reason = new Error('too late')
      await assert.rejects(queue.enqueueAndWait('a', 1, { signal: AbortSignal.abort(reason) }), reason)
      await sleep(10)
      assert.equal(await queue.getStatus('a'), null)
    })

    test('[Q4.17] [trap 33] one waiter that leaves takes nothing from the rest', async (t) => {
      const b = await bench(t, driver)
      const { queue, release } = await jobIn(b, 'processing')
      const other = b.queue()
      const controller = new AbortController()
      const leaves = [
        assert.rejects(queue.enqueueAndWait('x', 2, { timeout: 20 }), TimeoutError),
        assert.rejects(queue.enqueueAndWait('x', 2, { timeout: 0 }), TimeoutError),
        assert.rejects(queue.enqueueAndWait('x', 2, { signal: controller.signal }), { name: 'AbortError' }),
      ]
      const stays = [
        queue.enqueueAndWait('x', 3),
        queue.enqueueAndWait('x', 3, { timeout: 8_000 }),
        other.enqueueAndWait('x', 3, { timeout: Infinity }),
      ]
      await sleep(10)
      controller.abort()
      await Promise.all(leaves)
      release.resolve('done')
      assert.deepEqual(await Promise.all(stays), ['done', 'done', 'done'])
    })

    test('[Q4.17] hundreds wait for one job, and for many', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [producer, worker] = [newQueue(), newQueue({ concurrency: 10 })]
      const open = gate()
      worker.execute(async (job) => {
        await open.promise
        return job.id
      })
      await worker.start()
      const ids = Array.from({ length: 400 }, (_, index) => (index % 2 ? 'shared' : `job ${index % 40}`))
      const waits = Promise.all(ids.map((id) => producer.enqueueAndWait(id, 1)))
      await sleep(10)
      open.resolve()
      assert.deepEqual(await waits, ids)
    })
  })
}
