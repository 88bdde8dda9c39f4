// cancel: what waits is cancelled at once; what runs is left alone, or asked to stop.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AttemptAbortedError, type Job } from 'holdfast'
import { bench, gate, next, sleep, type TestDriver, until, duplicate } from './driver.ts'
import { faulty } from './faulty-storage.ts'
import { jobIn } from './states.ts'
import { defaultType } from 'holdfast/storage'

export function cancelTests(driver: TestDriver): void {
  describe(`${driver.name}: cancel`, () => {
    for (const state of ['scheduled', 'queued', 'blocked', 'failing'] as const) {
      test(`[Q4.18] a ${state} job is cancelled, never starts again, and stays readable`, async (t) => {
        const b = await bench(t, driver)
        // Long enough for the cancel to come before the retry, on a busy machine too.
        const delayMs = 700
        const { queue } = await jobIn(b, state, { resultTTL: 60_000, backoff: { type: 'fixed', delayMs } })
        const before = await queue.getStatus('x')
        const told: string[] = []
        queue.on('cancelled', (id) => told.push(id))
        assert.deepEqual(await queue.cancel('x'), { status: 'cancelled' })
        assert.deepEqual(told, ['x'])
        const status = await queue.getStatus('x')
        assert.equal(status?.state, 'cancelled')
        assert.equal(status.createdAt, before?.createdAt)
        assert.equal(status.attempts, before?.attempts)
        assert.equal(status.expiresAt! - status.finishedAt!, 60_000)
        assert.equal(status.result, undefined)

        const other = b.queue()
        const seen: string[] = []
        other.execute((job) => seen.push(job.id))
        const behind = next(other, 'completed')
        await other.start()
        // The queue of a failing job still works, and may have this one first, more than once.
        await other.enqueue('behind', 1, { maxAttempts: 1_000 })
        await behind
        await sleep(state === 'failing' ? delayMs + 50 : 50)
        assert.deepEqual(seen, ['behind'])
        assert.equal((await queue.getStatus('x'))?.state, 'cancelled')
      })
    }

    test('[Q4.18] the record of a cancelled job goes with its TTL', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      await queue.enqueue('a', 1, { resultTTL: 300 })
      await queue.cancel('a')
      assert.equal((await queue.getStatus('a'))?.state, 'cancelled')
      await until(async () => (await queue.getStatus('a')) === null)
      assert.deepEqual(await queue.cancel('a'), { status: 'not_found' })
    })

    test('[Q4.18] [trap 12] a job that fails over and over, cancelled in between, is not revived', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      // Without a pause the next claim carries the failure along: there would be no "in between".
      const [worker, other] = [newQueue({ backoff: { type: 'fixed', delayMs: 5 } }), newQueue()]
      let cancelled = false
      let late = 0
      worker.execute(async () => {
        if (cancelled) late++
        await sleep(1)
        throw new Error('again')
      })
      await worker.start()
      for (let round = 0; round < 20; round++) {
        cancelled = false
        const id = `job ${round}`
        await other.enqueue(id, 1, { maxAttempts: 1_000 })
        await until(async () => (await other.cancel(id)).status === 'cancelled')
        cancelled = true
        await sleep(5)
        assert.equal((await other.getStatus(id))?.state, 'cancelled')
      }
      assert.equal(late, 0)
    })

    test('[Q4.19] a running job is left alone', async (t) => {
      const b = await bench(t, driver)
      const { queue, release } = await jobIn(b, 'processing')
      const look = () => b.storage.get([{ type: defaultType, id: 'x' }], { parts: ['attempts'] })
      const before = await look()
      assert.deepEqual(await queue.cancel('x'), { status: 'processing' })
      assert.deepEqual(await queue.cancel('x', { abort: false }), { status: 'processing' })
      assert.deepEqual(await look(), before)
      const completed = next(queue, 'completed')
      release.resolve('done')
      assert.deepEqual(await completed, ['x', 'done'])
    })

    test('[Q4.20] with abort, the signal of the run aborts, in whichever queue it runs', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [worker, other] = [newQueue({ workerId: 'w', leaseMs: 60_000, visibilityTimeout: 60_000 }), newQueue()]
      const running = gate<Job<unknown>>()
      worker.execute((job) => {
        running.resolve(job)
        return new Promise(() => {})
      })
      await worker.start()
      await other.enqueue('a', 1)
      const job = await running.promise
      assert.equal(job.signal.aborted, false)
      const aborted = new Promise((resolve) => job.signal.addEventListener('abort', resolve))
      assert.deepEqual(await other.cancel('a', { abort: true }), { status: 'processing', aborting: true })
      await aborted
      const reason: unknown = job.signal.reason
      assert.ok(reason instanceof AttemptAbortedError)
      assert.deepEqual(
        [reason.code, reason.name, reason.jobId, reason.attempt],
        ['JOB_CANCELLED', 'AbortError', 'a', 1],
      )
      assert.deepEqual(await other.cancel('a', { abort: true }), { status: 'processing', aborting: true })
      assert.deepEqual(await other.cancel('a'), { status: 'processing' })
    })

    test('[Q4.20] if the hint is lost, by the next heartbeat', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.lose(({ kind }) => kind === 'abort')
      const worker = newQueue({ storage: line.storage, leaseMs: 150 })
      worker.execute(
        (job) => new Promise((_, reject) => job.signal.addEventListener('abort', () => reject(job.signal.reason))),
      )
      await worker.start()
      await worker.enqueue('a', 1)
      await until(async () => (await worker.getStatus('a'))?.state === 'processing')
      const cancelled = next(worker, 'cancelled')
      assert.deepEqual(await worker.cancel('a', { abort: true }), { status: 'processing', aborting: true })
      await cancelled
      assert.equal((await worker.getStatus('a'))?.state, 'cancelled')
    })

    test('[Q4.21] a handler that rejects then: cancelled, no retry; the id is taken until then, and free after', async (t) => {
      const b = await bench(t, driver)
      const { queue, release, seen } = await jobIn(b, 'processing', { backoff: 'none' })
      await queue.cancel('x', { abort: true })
      assert.deepEqual(await queue.enqueue('x', 2), duplicate('x', 'processing'))
      const said: string[] = []
      for (const name of ['failing', 'failed', 'completed'] as const) queue.on(name, () => said.push(name))
      const cancelled = next(queue, 'cancelled')
      release.reject(new Error('stopped'))
      assert.deepEqual(await cancelled, ['x'])
      assert.equal((await queue.getStatus('x'))?.state, 'cancelled')
      await sleep(30)
      assert.deepEqual([seen, said], [['first'], []])
      assert.deepEqual(await queue.enqueue('x', 'second', { delayMs: 60_000 }), { status: 'queued' })
    })

    test('[Q4.21] a handler that succeeds all the same: completed', async (t) => {
      const b = await bench(t, driver)
      const { queue, release } = await jobIn(b, 'processing')
      await queue.cancel('x', { abort: true })
      const completed = next(queue, 'completed')
      release.resolve('done')
      assert.deepEqual(await completed, ['x', 'done'])
      assert.equal(await queue.getResult('x'), 'done')
      assert.deepEqual(await queue.cancel('x', { abort: true }), { status: 'completed' })
    })

    test('[Q4.21] a handler that hits the cap then: cancelled', async (t) => {
      const b = await bench(t, driver)
      const { queue, seen } = await jobIn(b, 'processing', { visibilityTimeout: 300 })
      await queue.cancel('x', { abort: true })
      await until(async () => (await queue.getStatus('x'))?.state === 'cancelled')
      await sleep(30)
      assert.deepEqual(seen, ['first'])
    })

    test('[Q4.21] its worker dies then: cancelled when the lease is taken back', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      await queue.start()
      await queue.enqueue('a', 1)
      await storage.claim({ worker: 'dead/1', label: 'dead', slots: 1, types: [{ type: defaultType, leaseMs: 60 }] })
      assert.deepEqual(await queue.cancel('a', { abort: true }), { status: 'processing', aborting: true })
      let runs = 0
      queue.execute(() => ++runs)
      await until(async () => (await queue.getStatus('a'))?.state === 'cancelled')
      await sleep(20)
      assert.equal(runs, 0)
    })

    test('[Q4.21] its worker stops then: cancelled, not requeued', async (t) => {
      const b = await bench(t, driver)
      const { queue } = await jobIn(b, 'processing')
      await queue.cancel('x', { abort: true })
      const said: string[] = []
      for (const name of ['requeued', 'cancelled'] as const) queue.on(name, () => said.push(name))
      await queue.stop({ timeout: 10 })
      assert.deepEqual(said, ['cancelled'])
      const other = b.queue()
      assert.equal((await other.getStatus('x'))?.state, 'cancelled')
    })

    for (const state of ['completed', 'failed', 'cancelled'] as const) {
      test(`[Q4.22] a ${state} job: '${state}', and nothing changes`, async (t) => {
        const b = await bench(t, driver)
        const { queue } = await jobIn(b, state)
        const before = await queue.getStatus('x')
        const told: string[] = []
        if (state !== 'cancelled') queue.on('cancelled', (id) => told.push(id))
        assert.deepEqual(await queue.cancel('x'), { status: state })
        assert.deepEqual(await queue.cancel('x', { abort: true }), { status: state })
        assert.deepEqual(await queue.getStatus('x'), before)
        assert.deepEqual(told, [])
      })
    }

    test('[Q4.22] an unknown or expired job: not_found', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      assert.deepEqual(await queue.cancel('unknown'), { status: 'not_found' })
      queue.execute(() => 1)
      await queue.start()
      await queue.enqueueAndWait('a', 1)
      await queue.updateResultTTL('a', 20)
      await until(async () => (await queue.cancel('a')).status !== 'completed')
      assert.deepEqual(await queue.cancel('a'), { status: 'not_found' })
    })

    test('[Q4.23] [trap 11] cancel against a claim: cancelled exactly when no handler saw the job', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [worker, producer] = [newQueue({ concurrency: 3 }), newQueue()]
      const seen = new Set<string>()
      worker.execute(async (job) => {
        seen.add(job.id)
        await sleep(1)
      })
      await worker.start()
      const answers = new Map<string, string>()
      for (let round = 0; round < 200; round++) {
        const id = `job ${round}`
        await producer.enqueue(id, 1)
        for (let turn = 0; turn < round % 4; turn++) await new Promise((resolve) => setImmediate(resolve))
        answers.set(id, (await producer.cancel(id)).status)
      }
      // Those that the worker holds ahead would go back unseen at its stop.
      await until(() => [...answers].every(([id, status]) => status === 'cancelled' || seen.has(id)))
      await worker.stop()
      for (const [id, status] of answers) assert.equal(seen.has(id), status !== 'cancelled', `${id}: ${status}`)
      const kinds = new Set(answers.values())
      assert.ok(kinds.has('cancelled') && kinds.size > 1, `only saw ${[...kinds].join()}`)
    })

    test('[Q4.24] [trap 10] cancel, then enqueue: only the new payload runs, at its new place', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      for (const id of ['a', 'b', 'c']) await queue.enqueue(id, 'old')
      await queue.cancel('a')
      await queue.enqueue('a', 'new')
      const seen: string[] = []
      queue.execute((job) => seen.push(`${job.id} ${job.payload} ${job.attempts}`))
      await queue.start()
      await until(() => seen.length === 3)
      await sleep(20)
      assert.deepEqual(seen, ['b old 1', 'c old 1', 'a new 1'])
    })

    test('[Q4.24] [trap 10] against a racing worker', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [worker, producer] = [newQueue(), newQueue()]
      const seen = new Map<string, unknown[]>()
      worker.execute((job) => void seen.set(job.id, [...(seen.get(job.id) ?? []), job.payload]))
      await worker.start()
      for (let round = 0; round < 100; round++) {
        const id = `job ${round}`
        await producer.enqueue(id, 'old')
        if (round % 2) await new Promise((resolve) => setImmediate(resolve))
        const { status } = await producer.cancel(id)
        const again = await producer.enqueue(id, 'new')
        const expected = status === 'cancelled' ? 'new' : 'old'
        assert.equal(again.status === 'queued', status === 'cancelled')
        await until(() => seen.has(id))
        await until(async () => (await producer.getStatus(id))?.state === 'completed')
        assert.deepEqual(seen.get(id), [expected])
      }
    })
  })
}
