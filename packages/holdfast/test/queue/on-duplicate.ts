// onDuplicate: what an enqueue does if its id is taken.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DuplicateJobError, JobNotFoundError } from 'holdfast'
import { bench, duplicate, next, type TestDriver, until } from './driver.ts'
import { reasonOf } from './error-checks.ts'
import { jobIn } from './states.ts'

export function onDuplicateTests(driver: TestDriver): void {
  describe(`${driver.name}: onDuplicate`, () => {
    for (const state of ['scheduled', 'queued', 'failing'] as const) {
      test(`[F4] replace: a ${state} job has the payload and options of the new one`, async (t) => {
        const b = await bench(t, driver)
        const { queue } = await jobIn(b, state)
        const told: string[] = []
        queue.on('enqueued', (id) => told.push(id))
        const options = { onDuplicate: 'replace', maxAttempts: 7, priority: 5, delayMs: 600_000 } as const
        assert.deepEqual(await queue.enqueue('x', 'second', options), {
          status: 'replaced',
          id: 'x',
          state: 'scheduled',
        })
        assert.deepEqual(told, ['x'])
        const job = await queue.get('x')
        assert.deepEqual(
          [job?.state, job?.payload, job?.maxAttempts, job?.priority, job?.attempts],
          ['scheduled', 'second', 7, 5, 0],
        )
      })
    }

    test('[F4] replace: a running job answers duplicate, a completed one its result, and an ended one is added anew', async (t) => {
      const replace = { onDuplicate: 'replace', delayMs: 600_000 } as const
      const b = await bench(t, driver)
      const running = await jobIn(b, 'processing', { name: 'running' })
      assert.deepEqual(await running.queue.enqueue('x', 'second', replace), duplicate('x', 'processing'))
      const { queue: completed } = await jobIn(b, 'completed', { name: 'completed' })
      assert.deepEqual(await completed.enqueue('x', 'second', replace), { status: 'completed', result: 'done' })
      const { queue: failed } = await jobIn(b, 'failed', { name: 'failed' })
      assert.deepEqual(await failed.enqueue('x', 'second', replace), { status: 'queued' })
    })

    test('[F4] replace in one tick: the last payload runs, once', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<number, void>()
      const answers = await Promise.all([
        queue.enqueue('x', 1),
        queue.enqueue('x', 2, { onDuplicate: 'replace' }),
        queue.enqueue('x', 3, { onDuplicate: 'replace' }),
        queue.enqueue('x', 4),
      ])
      assert.deepEqual(answers, [
        { status: 'queued' },
        { status: 'replaced', id: 'x', state: 'queued' },
        { status: 'replaced', id: 'x', state: 'queued' },
        duplicate('x', 'queued'),
      ])
      const seen: number[] = []
      queue.execute(({ payload }) => void seen.push(payload))
      const behind = next(queue, 'completed', (id) => id === 'behind')
      await queue.start()
      await queue.enqueue('behind', 0)
      await behind
      assert.deepEqual(seen, [3, 0])
    })

    test('[F4] replace: who waited for the old job learns that it is gone, and the new wait is for the new job', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<string, string>()
      const old = reasonOf(queue.enqueueAndWait('x', 'old', { delayMs: 600_000 }))
      await until(async () => (await queue.getStatus('x')) !== null)
      const replacing = queue.enqueueAndWait('x', 'new', { onDuplicate: 'replace' })
      assert.ok((await old) instanceof JobNotFoundError)
      queue.execute(({ payload }) => payload)
      await queue.start()
      assert.equal(await replacing, 'new')
    })

    for (const state of ['scheduled', 'queued', 'blocked', 'processing', 'failing', 'completed'] as const) {
      test(`[F4] reject: a ${state} job makes enqueue and enqueueAndWait reject`, async (t) => {
        const b = await bench(t, driver)
        const { queue } = await jobIn(b, state)
        for (const error of await Promise.all([
          reasonOf(queue.enqueue('x', 'second', { onDuplicate: 'reject' })),
          reasonOf(queue.enqueueAndWait('x', 'second', { onDuplicate: 'reject' })),
        ])) {
          assert.ok(error instanceof DuplicateJobError)
          assert.deepEqual([error.code, error.jobId, error.state, error.by], ['DUPLICATE_JOB', 'x', state, 'id'])
        }
        assert.equal((await queue.get('x'))?.payload, 'first')
      })
    }

    test('[F4] reject: other calls of the tick go through, and a free id is queued', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      const deduplication = { key: 'k' }
      await queue.enqueue('taken', 1, { deduplication })
      const reject = { onDuplicate: 'reject' } as const
      const [first, second, third, fourth] = await Promise.allSettled([
        queue.enqueue('a', 1),
        queue.enqueue('taken', 1, reject),
        queue.enqueue('b', 1, reject),
        queue.enqueue('c', 1, { ...reject, deduplication }),
      ])
      assert.deepEqual([first?.status, second?.status, third?.status], ['fulfilled', 'rejected', 'fulfilled'])
      assert.ok(fourth?.status === 'rejected' && fourth.reason instanceof DuplicateJobError)
      assert.deepEqual([fourth.reason.jobId, fourth.reason.by], ['taken', 'key'])
    })
  })
}
