// Operating a queue: list, count, retry, remove, pause, redrive, drain, workers.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { type BulkProgress, createJsonSerde, fail, type Serde } from 'holdfast'
import { bench, type TestDriver, until } from './driver.ts'

/** A queue whose handler fails for payloads below zero. */
async function withFailed(t: TestContext, driver: TestDriver, failed: number) {
  const { queue, storage } = await bench(t, driver)
  const runs: [id: string, payload: number][] = []
  const worker = queue<number, number>({ name: 'work', concurrency: 10, maxAttempts: 1 })
  worker.execute(({ id, payload }) => {
    runs.push([id, payload])
    return payload < 0 ? fail('below zero') : payload
  })
  for (let n = 1; n <= failed; n++) await worker.enqueue(`bad${n}`, -n)
  await worker.start()
  await until(async () => (await worker.counts()).states.failed === failed)
  return { worker, storage, queue, runs }
}

export function operatingTests(driver: TestDriver): void {
  describe(`${driver.name}: operating`, () => {
    test('[F28] failed jobs are listed, with payload on request, over pages', async (t) => {
      const { worker } = await withFailed(t, driver, 5)
      await worker.enqueueAndWait('good', 1)
      const seen: (number | undefined)[] = []
      let cursor: string | undefined
      do {
        const page = await worker.list({ states: ['failed'], limit: 2, payload: true, cursor })
        assert.ok(page.items.length <= 2)
        for (const { face, name, state, attempts, payload } of page.items) {
          assert.deepEqual([face, name, state, attempts], ['queue', 'work', 'failed', 1])
          seen.push(payload)
        }
        cursor = page.nextCursor
      } while (cursor !== undefined)
      assert.deepEqual(seen.toSorted(), [-1, -2, -3, -4, -5])
      const { items } = await worker.list({ states: ['completed'] })
      assert.deepEqual(
        items.map(({ id }) => id),
        ['good'],
      )
      assert.ok(!('payload' in items[0]!))
    })

    test('[F28] a list has the errors of failed jobs, on request', async (t) => {
      const { worker } = await withFailed(t, driver, 2)
      await worker.enqueueAndWait('good', 1)
      const errors = (await worker.list({ error: true })).items.map(({ state, error }) => [state, error?.message])
      assert.deepEqual(errors.toSorted(), [
        ['completed', undefined],
        ['failed', 'below zero'],
        ['failed', 'below zero'],
      ])
      const plain = await worker.list({ states: ['failed'] })
      assert.ok(plain.items.every((item) => !('error' in item)))
    })

    test('a list by creation has the order that was asked for, and a range of time', async (t) => {
      const { queue } = await bench(t, driver)
      const waiting = queue<number>()
      for (const id of ['a', 'b', 'c']) {
        await waiting.enqueue(id, 1)
        // Another millisecond, so that the order is certain.
        const at = Date.now()
        await until(() => Date.now() > at)
      }
      const ids = async (query: Parameters<typeof waiting.list>[0]): Promise<string[]> =>
        (await waiting.list(query)).items.map(({ id }) => id)
      assert.deepEqual(await ids({ order: 'asc' }), ['a', 'b', 'c'])
      assert.deepEqual(await ids({ order: 'desc' }), ['c', 'b', 'a'])
      const { items } = await waiting.list({ order: 'asc' })
      assert.deepEqual(await ids({ createdFrom: items[1]!.createdAt, order: 'asc' }), ['b', 'c'])
      assert.deepEqual(await ids({ createdTo: new Date(items[1]!.createdAt) }), ['a'])
      assert.deepEqual(await ids({ createdFrom: items[2]!.createdAt + 60_000 }), [])
      await assert.rejects(waiting.list({ limit: 0 }), { code: 'INVALID_ARGUMENT' })
      await assert.rejects(waiting.list({ states: ['lost'] } as never), { code: 'INVALID_ARGUMENT' })
    })

    test('a payload that cannot be decoded is said to be so, and the others are there', async (t) => {
      const { queue } = await bench(t, driver)
      const bytes: Serde<string> = { serialize: (text) => Buffer.from(text), deserialize: String }
      await queue<string>({ payloadSerde: bytes }).enqueue('a', '{ no JSON')
      const reader = queue<string>({ payloadSerde: createJsonSerde<string>() })
      await reader.enqueue('b', 'fine')
      const { items } = await reader.list({ payload: true })
      const [a, b] = items.toSorted((one, other) => (one.id < other.id ? -1 : 1))
      assert.match(a!.payloadError!, /^the stored payload cannot be decoded/)
      assert.equal(b!.payload, 'fine')
    })

    test('counts: by state, due, delayed, and since when the oldest waits', async (t) => {
      const { queue } = await bench(t, driver)
      const waiting = queue<number>({ name: 'counted' })
      await waiting.enqueue('now', 1)
      await waiting.enqueue('later', 1, { delayMs: 60_000 })
      const { face, name, states, due, delayed, oldestDueAt, oldestDueMs, paused, pausedGroups } =
        await waiting.counts()
      assert.deepEqual([face, name, due, delayed, paused, pausedGroups], ['queue', 'counted', 1, 1, undefined, []])
      assert.deepEqual([states.queued, states.scheduled], [1, 1])
      assert.ok(oldestDueAt! > 0 && oldestDueMs! >= 0)
      assert.equal((await queue({ name: 'empty' }).counts()).due, 0)
    })

    test('[F28] retry runs a failed job again, with its attempts counted anew; and no other', async (t) => {
      const { worker, runs } = await withFailed(t, driver, 1)
      assert.deepEqual(await worker.retry('bad1'), { status: 'retried' })
      await until(() => runs.length === 2)
      await until(async () => (await worker.getStatus('bad1'))?.state === 'failed')
      assert.equal((await worker.getStatus('bad1'))!.attempts, 1)
      await worker.enqueueAndWait('good', 1)
      assert.deepEqual(await worker.retry('good'), { status: 'not_retryable' })
      assert.deepEqual(await worker.retry('unknown'), { status: 'not_found' })
      await worker.enqueue('later', 1, { delayMs: 60_000 })
      assert.deepEqual(await worker.retry('later'), { status: 'not_retryable' })
      assert.equal((await worker.getStatus('later'))!.state, 'scheduled')
    })

    test('remove deletes the record of an ended job, and leaves a waiting one', async (t) => {
      const { worker } = await withFailed(t, driver, 1)
      await worker.enqueue('later', 1, { delayMs: 60_000 })
      assert.deepEqual(await worker.remove('later'), { status: 'not_terminal' })
      assert.deepEqual(await worker.remove('bad1'), { status: 'removed' })
      assert.equal(await worker.getStatus('bad1'), null)
      assert.deepEqual(await worker.remove('bad1'), { status: 'not_found' })
    })

    test('[F26] a paused queue runs nothing, accepts jobs, and shows by whom; resumed, it goes on', async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<number, number>({ name: 'paused' })
      worker.execute(({ payload }) => payload)
      await worker.start()
      const other = queue<number, number>({ name: 'paused' })
      await other.pause({ by: 'ada' })
      const { paused } = await worker.counts()
      assert.equal(paused!.by, 'ada')
      assert.ok(paused!.since > 0)
      const waited = other.enqueueAndWait('a', 7)
      await until(async () => (await other.counts()).due === 1)
      // A job of another queue on the same storage comes and goes meanwhile.
      const unpaused = queue<number, number>({ name: 'open' })
      unpaused.execute(({ payload }) => payload)
      await unpaused.start()
      await unpaused.enqueueAndWait('b', 1)
      assert.equal((await other.getStatus('a'))!.state, 'queued')
      await other.resume()
      assert.equal(await waited, 7)
      assert.equal((await worker.counts()).paused, undefined)
    })

    test('[F31] redrive runs all failed jobs again, once, although they fail again', async (t) => {
      const { worker, runs } = await withFailed(t, driver, 30)
      const seen: BulkProgress[] = []
      const action = worker.redrive({}, { onProgress: (progress) => seen.push(progress) })
      const result = await action.result
      assert.deepEqual(
        [result.total, result.matched, result.done, result.skipped, result.failed, result.stopped],
        [30, 30, 30, 0, 0, false],
      )
      assert.deepEqual(seen.at(-1), { total: 30, matched: 30, done: 30, skipped: 0, failed: 0 })
      await until(() => runs.length >= 60)
      await until(async () => (await worker.counts()).states.failed === 30)
      assert.equal(runs.length, 60)
    })

    test('[F28] redrive with edit changes payloads; one that cannot be changed is counted, and stays failed', async (t) => {
      const { worker } = await withFailed(t, driver, 3)
      const action = worker.redrive(
        {},
        {
          edit: (payload, { id }) => {
            if (id === 'bad2') throw new Error('not this one')
            return -payload
          },
        },
      )
      const { done, failed, errors } = await action.result
      assert.deepEqual([done, failed], [2, 1])
      assert.deepEqual(errors[0]!.job, { face: 'queue', name: 'work', id: 'bad2' })
      assert.equal(errors[0]!.error.message, 'not this one')
      await until(async () => (await worker.counts()).states.completed === 2)
      assert.equal(await worker.getResult('bad3'), 3)
      assert.equal((await worker.getStatus('bad2'))!.state, 'failed')
    })

    test('[F31] drainWaiting cancels what waits, or removes it, and leaves what runs', async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<number, string>({ name: 'drained' })
      const end = Promise.withResolvers<string>()
      const began = Promise.withResolvers<void>()
      worker.execute(() => {
        began.resolve()
        return end.promise
      })
      await worker.start()
      const running = worker.enqueueAndWait('running', 0)
      await began.promise
      for (let n = 0; n < 5; n++) await worker.enqueue(`w${n}`, n, n % 2 === 0 ? {} : { delayMs: 60_000 })
      assert.equal((await worker.drainWaiting().result).done, 5)
      assert.equal((await worker.getStatus('w1'))!.state, 'cancelled')
      for (let n = 0; n < 5; n++) await worker.enqueue(`x${n}`, n)
      const { done, total } = await worker.drainWaiting({ remove: true }).result
      assert.deepEqual([done, total], [5, 5])
      assert.equal(await worker.getStatus('x1'), null)
      end.resolve('done')
      assert.equal(await running, 'done')
    })

    test('[F34] workers: those of this queue, in every process, until they stop', async (t) => {
      const { queue } = await bench(t, driver)
      const first = queue<number>({ name: 'mine', workerId: 'first', concurrency: 3 })
      const other = queue<number>({ name: 'other', workerId: 'other' })
      const hidden = queue<number>({ name: 'mine', workerId: 'hidden', presenceMs: false })
      for (const worker of [first, other, hidden]) {
        worker.execute(() => {})
        await worker.start()
      }
      const reader = queue<number>({ name: 'mine' })
      await until(async () => (await reader.workers()).length === 1)
      const [info] = await reader.workers()
      assert.deepEqual(
        [info!.label, info!.types, info!.concurrency, info!.pid],
        ['first', [{ face: 'queue', name: 'mine' }], 3, process.pid],
      )
      await first.stop()
      assert.deepEqual(await reader.workers(), [])
    })
  })
}
