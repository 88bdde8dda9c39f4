// Deduplication modes debounce, followUp and ascending: what enqueue answers, which payloads run, and what is refused at the edge.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type DeduplicationOptions, DuplicateJobError } from 'holdfast'
import { bench, duplicate, gate, type TestDriver, until } from './driver.ts'
import { reasonOf } from './error-checks.ts'

const replaced = (id: string, state: string) => ({ status: 'replaced', id, state })
const queued = { status: 'queued' }

const version = (number: number) => ({ key: 'k', mode: 'ascending', version: number }) as const

export function deduplicationModeTests(driver: TestDriver): void {
  describe(`${driver.name}: deduplication modes`, () => {
    test('[F25] debounce: later calls replace the payload of the waiting job, which runs once', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<number, number>()
      const deduplication = { key: 'k', mode: 'debounce', windowMs: 600_000 } as const
      assert.deepEqual(await queue.enqueue('a', 1, { deduplication }), queued)
      assert.deepEqual(await queue.enqueue('b', 2, { deduplication }), replaced('a', 'scheduled'))
      assert.deepEqual(
        await queue.enqueueMany([3, 4].map((payload) => ({ id: `m${payload}`, payload, deduplication }))),
        [replaced('a', 'scheduled'), replaced('a', 'scheduled')],
      )
      const answers = await Promise.all(
        [5, 6, 7].map((payload) => queue.enqueue(`t${payload}`, payload, { deduplication })),
      )
      assert.deepEqual(answers, Array(3).fill(replaced('a', 'scheduled')))
      assert.deepEqual([(await queue.get('a'))?.payload, await queue.get('b')], [7, null])
      const seen: number[] = []
      queue.execute(({ payload }) => seen.push(payload))
      await queue.start()
      // Its longest wait is over at once: the call waits for the job that stands.
      const soon = { ...deduplication, maxWaitMs: 1 }
      assert.equal(await queue.enqueueAndWait('c', 8, { deduplication: soon }), 1)
      assert.deepEqual(seen, [8])
    })

    test('[F25] followUp: one job runs, and one more with the last payload runs after it', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<number, number>({ concurrency: 5 })
      const deduplication = { key: 'k', mode: 'followUp' } as const
      const [started, release] = [gate<void>(), gate<void>()]
      const seen: number[] = []
      queue.execute(async ({ payload }) => {
        seen.push(payload)
        started.resolve()
        if (payload === 1) await release.promise
        return payload
      })
      assert.deepEqual(await queue.enqueue('a', 1, { deduplication }), queued)
      assert.deepEqual(await queue.enqueue('b', 0, { deduplication }), duplicate('a', 'queued'))
      await queue.start()
      await started.promise
      assert.deepEqual(await queue.enqueue('b', 2, { deduplication }), queued)
      assert.equal((await queue.get('b'))?.state, 'blocked')
      assert.deepEqual(await queue.enqueue('c', 3, { deduplication }), replaced('b', 'blocked'))
      const waiting = queue.enqueueAndWait('d', 4, { deduplication })
      await until(async () => (await queue.get('b'))?.payload === 4)
      release.resolve()
      assert.equal(await waiting, 4)
      assert.deepEqual(seen, [1, 4])
    })

    test('[F25] ascending: lower versions are stale, also after the job has ended', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<number, number>()
      queue.execute(({ payload }) => payload)
      await queue.start()
      assert.equal(await queue.enqueueAndWait('a', 1, { deduplication: version(7) }), 1)
      const stale = { status: 'stale', version: 7 }
      assert.deepEqual(await queue.enqueue('b', 2, { deduplication: version(7) }), stale)
      assert.deepEqual(await queue.enqueueMany([{ id: 'b', payload: 2, deduplication: version(6) }]), [stale])
      for (const error of [
        await reasonOf(queue.enqueue('b', 2, { deduplication: version(7), onDuplicate: 'reject' })),
        await reasonOf(queue.enqueueAndWait('b', 2, { deduplication: version(7) })),
      ]) {
        assert.ok(error instanceof DuplicateJobError)
        assert.deepEqual([error.by, error.version, error.jobId], ['version', 7, undefined])
      }
      assert.equal(await queue.get('b'), null)
      assert.equal(await queue.enqueueAndWait('b', 2, { deduplication: version(8) }), 2)
    })

    test('[F25] options of another mode, and a mode without its own, are refused before anything is written', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<number, number>()
      const wrong: readonly (readonly [object, RegExp, object?])[] = [
        [{ key: 'k', mode: 'debounce' }, /deduplication\.windowMs/],
        [{ key: 'k', mode: 'debounce', windowMs: 1_000 }, /delayMs.*debounce/, { delayMs: 1 }],
        [{ key: 'k', mode: 'debounce', windowMs: 1_000 }, /runAt.*debounce/, { runAt: 1 }],
        [{ key: 'k', mode: 'debounce', windowMs: 1_000, version: 1 }, /mode 'debounce'.*maxWaitMs.*version/],
        [{ key: 'k', mode: 'followUp', windowMs: 1_000 }, /mode 'followUp'.*windowMs/],
        [{ key: 'k', mode: 'ascending' }, /deduplication\.version/],
        [{ key: 'k', mode: 'ascending', version: 0.5 }, /version/],
        [{ key: 'k', mode: 'simple', maxWaitMs: 1 }, /mode 'simple'.*maxWaitMs/],
        [{ key: 'k', ttlMs: 1 }, /deduplication options.*ttlMs/],
        [{ key: 'k', mode: 'last' }, /deduplication\.mode/],
        [{ mode: 'followUp' }, /deduplication\.key/],
      ]
      for (const [deduplication, message, more] of wrong) {
        const options = { ...more, deduplication: deduplication as DeduplicationOptions }
        await assert.rejects(queue.enqueue('a', 1, options), { name: 'TypeError', code: 'INVALID_ARGUMENT', message })
      }
      assert.equal(await queue.get('a'), null)
    })
  })
}
