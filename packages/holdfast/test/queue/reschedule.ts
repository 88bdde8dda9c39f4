// reschedule and runNow: another time for a waiting job.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bench, next, type TestDriver } from './driver.ts'
import { jobIn } from './states.ts'
import { rejectsInput, watched } from './watched.ts'

export function rescheduleTests(driver: TestDriver): void {
  describe(`${driver.name}: reschedule`, () => {
    test('[F1] a waiting job gets another time, earlier or later', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      await queue.enqueue('a', 1)
      assert.deepEqual(await queue.reschedule('a', { delayMs: 600_000 }), { status: 'rescheduled' })
      assert.equal((await queue.getStatus('a'))?.state, 'scheduled')
      const at = Date.now() + 7_200_000
      assert.deepEqual(await queue.reschedule('a', { runAt: new Date(at) }), { status: 'rescheduled' })
      assert.equal((await queue.getStatus('a'))?.runAt, at)
      assert.deepEqual(await queue.reschedule('a', { runAt: at + 0.5 }), { status: 'rescheduled' })
      assert.equal((await queue.getStatus('a'))?.runAt, at + 1)
      assert.deepEqual(await queue.reschedule('a', { runAt: 0 }), { status: 'rescheduled' })
      assert.equal((await queue.getStatus('a'))?.state, 'queued')
    })

    for (const state of ['scheduled', 'failing'] as const) {
      test(`[F1] runNow: a ${state} job runs at once`, async (t) => {
        const b = await bench(t, driver)
        const { queue } = await jobIn(b, state)
        const worker = b.queue()
        worker.execute(({ attempts }) => attempts)
        await worker.start()
        const done = next(state === 'failing' ? queue : worker, state === 'failing' ? 'failing' : 'completed')
        const ran = state === 'failing' ? Promise.race([done, next(worker, 'completed')]) : done
        assert.deepEqual(await queue.runNow('x'), { status: 'rescheduled' })
        assert.equal((await ran)[0], 'x')
      })
    }

    for (const state of ['blocked', 'processing', 'completed', 'failed', 'cancelled'] as const) {
      test(`[F1] a ${state} job is left alone: not_waiting, with its state`, async (t) => {
        const b = await bench(t, driver)
        const { queue } = await jobIn(b, state)
        const before = await queue.getStatus('x')
        assert.deepEqual(await queue.runNow('x'), { status: 'not_waiting', state })
        assert.deepEqual(await queue.reschedule('x', { delayMs: 1_000 }), { status: 'not_waiting', state })
        assert.deepEqual(await queue.getStatus('x'), before)
      })
    }

    test('[F1] an unknown job: not_found', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      assert.deepEqual(await queue.runNow('unknown'), { status: 'not_found' })
      assert.deepEqual(await queue.reschedule('unknown', { delayMs: 1 }), { status: 'not_found' })
    })

    test('[F1] one time, and a possible one', async (t) => {
      const { queue, unmoved } = await watched(t, driver)
      await unmoved(async () => {
        await rejectsInput('runAt', undefined, () => queue.reschedule('there', {}))
        await rejectsInput('runAt', undefined, () => queue.reschedule('there', undefined as never))
        await rejectsInput('delayMs', 1, () => queue.reschedule('there', { delayMs: 1, runAt: 1 }))
        await rejectsInput('delayMs', -1, () => queue.reschedule('there', { delayMs: -1 }))
        await rejectsInput('runAt', NaN, () => queue.reschedule('there', { runAt: NaN }))
      })
    })
  })
}
