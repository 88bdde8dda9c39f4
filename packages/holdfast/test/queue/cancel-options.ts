// cancel with force, reason and waitMs.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AttemptAbortedError, type Job, JobCancelledError } from 'holdfast'
import { bench, countAdds, gate, next, sleep, type TestDriver, until } from './driver.ts'
import { reasonOf } from './error-checks.ts'
import { jobIn } from './states.ts'
import { rejectsInput, watched } from './watched.ts'

/** A handler that ends when its signal aborts, as most do. */
const untilAborted = (job: Job<unknown>): Promise<never> =>
  new Promise((_, reject) => job.signal.addEventListener('abort', () => reject(job.signal.reason!)))

export function cancelOptionTests(driver: TestDriver): void {
  describe(`${driver.name}: cancel with options`, () => {
    test('[F17] force: a running job ends at once, its waiter is told, and what its handler returns is dropped', async (t) => {
      const b = await bench(t, driver)
      const { queue, release } = await jobIn(b, 'processing')
      const adds = countAdds(b.storage)
      const waiting = reasonOf(b.queue().enqueueAndWait('x', 'first'))
      await until(() => adds() === 1)
      const [told, fenced] = [next(queue, 'cancelled'), next(queue, 'fenced')]
      assert.deepEqual(await queue.cancel('x', { force: true, reason: 'the order was withdrawn' }), {
        status: 'cancelled',
      })
      assert.deepEqual(await told, ['x'])
      const error = await waiting
      assert.ok(error instanceof JobCancelledError)
      assert.deepEqual([error.jobId, error.reason], ['x', 'the order was withdrawn'])
      assert.match(error.message, /"the order was withdrawn"/)
      assert.deepEqual(await fenced, ['x', 1, 'cancelled'])
      release.resolve('too late')
      await queue.stop()
      const job = await b.queue().get('x')
      assert.deepEqual(
        [job?.state, job?.cancelReason, job?.history.map(({ outcome }) => outcome)],
        ['cancelled', 'the order was withdrawn', ['cancelled']],
      )
    })

    test('[F17] force: a waiting or ended job as without it', async (t) => {
      const b = await bench(t, driver)
      const { queue } = await jobIn(b, 'completed')
      assert.deepEqual(await queue.cancel('x', { force: true }), { status: 'completed' })
      await queue.enqueue('y', 1, { delayMs: 600_000 })
      assert.deepEqual(await queue.cancel('y', { force: true }), { status: 'cancelled' })
      assert.deepEqual(await queue.cancel('unknown', { force: true }), { status: 'not_found' })
    })

    test('[F17] the reason of a cancelled waiting job is kept, and given to its waiters', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [queue, other] = [newQueue(), newQueue()]
      const waiting = reasonOf(queue.enqueueAndWait('a', 1))
      await until(async () => (await other.cancel('a', { reason: 'not needed' })).status === 'cancelled')
      const error = await waiting
      assert.ok(error instanceof JobCancelledError && error.reason === 'not needed')
      const status = await other.getStatus('a')
      assert.deepEqual([status?.state, status?.cancelReason, status?.reason], ['cancelled', 'not needed', undefined])
      await queue.enqueue('b', 1)
      await other.cancel('b')
      assert.equal((await other.getStatus('b'))?.cancelReason, undefined)
    })

    test('[F17] the reason of an abort reaches the signal of the handler', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [worker, other] = [newQueue(), newQueue()]
      const running = gate<Job<unknown>>()
      worker.execute((job) => {
        running.resolve(job)
        return untilAborted(job)
      })
      await worker.start()
      await other.enqueue('a', 1)
      const { signal } = await running.promise
      const cancelled = next(worker, 'cancelled')
      await other.cancel('a', { abort: true, reason: 'too expensive' })
      await cancelled
      const { reason } = signal
      assert.ok(reason instanceof AttemptAbortedError)
      assert.deepEqual(
        [reason.code, reason.reason, reason.cancelReason],
        ['JOB_CANCELLED', 'cancelled', 'too expensive'],
      )
      assert.equal((await other.getStatus('a'))?.cancelReason, 'too expensive')
    })

    test('[F17] waitMs: waits until the aborted job has ended, and answers with its state', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [worker, other] = [newQueue({ concurrency: 2 }), newQueue()]
      worker.execute(async (job) => {
        if (job.payload === 'stops') return untilAborted(job)
        await untilAborted(job).catch(() => {})
        return 'done all the same'
      })
      await worker.start()
      for (const [payload, status] of [
        ['stops', 'cancelled'],
        ['goes on', 'completed'],
      ] as const) {
        await other.enqueue(payload, payload)
        await until(async () => (await other.getStatus(payload))?.state === 'processing')
        assert.deepEqual(await other.cancel(payload, { abort: true, waitMs: 30_000 }), { status })
        assert.equal((await other.getStatus(payload))?.state, status)
      }
    })

    test('[F17] waitMs is over first: the job is still asked to stop', async (t) => {
      const b = await bench(t, driver)
      const { queue, release } = await jobIn(b, 'processing')
      const aborting = { status: 'processing', aborting: true } as const
      assert.deepEqual(await b.queue().cancel('x', { abort: true, waitMs: 30 }), aborting)
      const ended = queue.cancel('x', { abort: true, waitMs: 30_000 })
      await sleep(20)
      const cancelled = next(queue, 'cancelled')
      release.reject(new Error('stopped'))
      assert.deepEqual(await ended, { status: 'cancelled' })
      await cancelled
    })

    test('[F17] waitMs: a job that waits or has ended is answered at once', async (t) => {
      const b = await bench(t, driver)
      const { queue } = await jobIn(b, 'completed')
      assert.deepEqual(await queue.cancel('x', { abort: true, waitMs: 600_000 }), { status: 'completed' })
      await queue.enqueue('y', 1, { delayMs: 600_000 })
      assert.deepEqual(await queue.cancel('y', { abort: true, waitMs: 600_000 }), { status: 'cancelled' })
      assert.deepEqual(await queue.cancel('z', { abort: true, waitMs: 600_000 }), { status: 'not_found' })
    })

    test('[F17] what is no such option is refused', async (t) => {
      const { queue, unmoved } = await watched(t, driver)
      await unmoved(async () => {
        for (const value of [1, 'yes', null]) {
          await rejectsInput('force', value, () => queue.cancel('there', { force: value as never }))
        }
        for (const value of ['', 5, null, 'x'.repeat(1_025)]) {
          await rejectsInput('reason', value, () => queue.cancel('there', { reason: value as never }))
        }
        for (const value of [-1, 1.5, '5', null]) {
          await rejectsInput('waitMs', value, () => queue.cancel('there', { abort: true, waitMs: value as never }))
        }
        await rejectsInput('waitMs', 5, () => queue.cancel('there', { waitMs: 5 }))
      })
    })
  })
}
