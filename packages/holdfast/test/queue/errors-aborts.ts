// Why a handler's signal aborts; and the errors that have a code and no class of their own.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  AttemptAbortedError,
  HoldfastError,
  isHoldfastError,
  type Job,
  type JobAbortReason,
  JobFailedError,
  type Queue,
} from 'holdfast'
import { type Bench, bench, gate, next, type TestDriver, until } from './driver.ts'
import { assertOurs, reasonOf } from './error-checks.ts'
import { failing, faulty } from './faulty-storage.ts'
import { defaultType } from 'holdfast/storage'

interface Running {
  readonly queue: Queue<unknown, unknown>
  readonly job: Job<unknown>
  readonly aborted: Promise<unknown>
}

/** The job 'x' in a run that never ends, its second. */
async function running(b: Bench, config: object): Promise<Running> {
  const queue = b.queue(config)
  const began = gate<Job<unknown>>()
  queue.execute((job) => {
    if (job.attempts === 1) throw new Error('not yet')
    began.resolve(job)
    return new Promise(() => {})
  })
  await queue.start()
  await queue.enqueue('x', 1)
  const job = await began.promise
  const { signal } = job
  assert.equal(signal.aborted, false)
  const aborted = new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)))
  return { queue, job, aborted }
}

function assertAborted(error: unknown, code: string, reason: JobAbortReason): void {
  assert.ok(error instanceof AttemptAbortedError)
  assertOurs(error, 'AbortError', code, { reason, jobId: 'x', attempt: 2 })
}

export function abortErrorTests(driver: TestDriver): void {
  describe(`${driver.name}: errors with a code`, () => {
    test('[Q7.08] ATTEMPT_TIMEOUT: at visibilityTimeout', async (t) => {
      const { aborted } = await running(await bench(t, driver), { visibilityTimeout: 100 })
      assertAborted(await aborted, 'ATTEMPT_TIMEOUT', 'timeout')
    })

    test('[Q7.08] LEASE_LOST: taken back by another', async (t) => {
      const b = await bench(t, driver)
      const { aborted } = await running(b, {})
      await until(async () => (await b.storage.recover({ types: [defaultType], limit: 1, olderThanMs: 1 })).length > 0)
      assertAborted(await aborted, 'LEASE_LOST', 'taken_by_another_worker')
    })

    test('[Q7.08] LEASE_LOST: no renewal until its end', async (t) => {
      const b = await bench(t, driver)
      const line = faulty(b.storage)
      const { aborted, queue } = await running(b, { storage: line.storage, leaseMs: 150 })
      queue.on('error', () => {})
      line.on('extend', failing())
      assertAborted(await aborted, 'LEASE_LOST', 'error')
    })

    test('[Q7.08] STOPPING: at the end of the grace period of stop(), not before', async (t) => {
      const { queue, job, aborted } = await running(await bench(t, driver), {})
      const stopping = queue.stop({ timeout: 60 })
      await new Promise((resolve) => setTimeout(resolve, 10))
      assert.equal(job.signal.aborted, false)
      assertAborted(await aborted, 'STOPPING', 'stopping')
      await stopping
    })

    test('[Q7.08] JOB_CANCELLED: by cancel with abort', async (t) => {
      const b = await bench(t, driver)
      const { aborted } = await running(b, {})
      await b.queue().cancel('x', { abort: true })
      assertAborted(await aborted, 'JOB_CANCELLED', 'cancelled')
    })

    test('[Q7.08] the first reason stays, and a signal that is looked at late has it too', async (t) => {
      const b = await bench(t, driver)
      const queue = b.queue({ visibilityTimeout: 80, maxRetries: 1 })
      const began = gate<Job<unknown>>()
      queue.execute((job) => {
        began.resolve(job)
        return new Promise(() => {})
      })
      await queue.start()
      const failed = next(queue, 'failed')
      await queue.enqueue('x', 1)
      const job = await began.promise
      await failed
      await queue.stop({ timeout: 0 })
      assert.equal(job.signal.aborted, true)
      const reason: unknown = job.signal.reason
      assert.ok(reason instanceof AttemptAbortedError)
      assert.deepEqual([reason.code, reason.jobId, reason.attempt], ['ATTEMPT_TIMEOUT', 'x', 1])
      assert.throws(
        () => job.signal.throwIfAborted(),
        (error) => error === reason,
      )
    })

    test('[Q7.09] STALLED: the error of a job whose last attempt was given up', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ visibilityTimeout: 60, maxRetries: 1 })
      queue.execute(() => new Promise(() => {}))
      await queue.start()
      const error = await reasonOf(queue.enqueueAndWait('x', 1))
      assert.ok(error instanceof JobFailedError)
      const { name, code, message } = error.details
      assert.deepEqual([name, code], ['HoldfastError', 'STALLED'])
      assert.equal(error.message, `Job 'x' failed: ${message}`)
      assert.deepEqual(JSON.parse(error.originalError), error.details)
      assert.deepEqual((await queue.getStatus('x'))?.error, error.details)
    })

    test('[Q7.09] TOO_LARGE: thrown at the caller, and as the error of a job, with what, size and limit', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ maxPayloadBytes: 5, maxResultBytes: 8 })
      queue.execute(() => 'too long')
      await queue.start()
      const thrown = await reasonOf(queue.enqueue('x', 'long'))
      assertOurs(thrown, 'HoldfastError', 'TOO_LARGE', { what: 'payload', size: 6, limit: 5 })
      const error = await reasonOf(queue.enqueueAndWait('x', 1))
      assert.ok(error instanceof JobFailedError)
      const { name, code, what, size, limit } = error.details
      assert.deepEqual([name, code, what, size, limit], ['HoldfastError', 'TOO_LARGE', 'result', 10, 8])
    })

    test('[Q7.09] QUEUE_STOPPED: waits that stop() ended, with the name of the queue', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ name: 'mail' })
      const waiting = reasonOf(queue.enqueueAndWait('x', 1))
      await queue.start()
      await queue.stop()
      assertOurs(await waiting, 'HoldfastError', 'QUEUE_STOPPED', { queue: 'mail' })
    })

    test('[Q7.09] QUEUE_STOPPED: calls of a stopped queue whose storage is closed', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('*', (apply, { verb }) => {
        const isClosed = line.connections === 0 && verb !== 'connect' && verb !== 'disconnect'
        return isClosed ? Promise.reject(new HoldfastError('STORAGE_CLOSED', 'the storage is closed')) : apply()
      })
      const queue = newQueue({ storage: line.storage })
      const calls = [
        () => queue.enqueue('x', 1),
        () => queue.enqueueAndWait('x', 1),
        () => queue.cancel('x'),
        () => queue.getResult('x'),
        () => queue.getStatus('x'),
        () => queue.updateResultTTL('x', 1),
        () => queue.events().ready,
      ]
      await queue.start()
      await queue.stop()
      for (const call of calls) {
        assertOurs(await reasonOf(call()), 'HoldfastError', 'QUEUE_STOPPED', { queue: 'default' })
      }
      // While another user keeps the storage open, they work.
      await line.storage.connect()
      assert.deepEqual(await queue.enqueue('x', 1), { status: 'queued' })
      assert.equal((await queue.getStatus('x'))?.state, 'queued')
      await line.storage.disconnect()
    })

    test('[Q7.09] HANDLER_ALREADY_SET: by execute, a second time', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      queue.execute(() => {})
      let error: unknown
      try {
        queue.execute(() => {})
      } catch (thrown) {
        error = thrown
      }
      assertOurs(error, 'HoldfastError', 'HANDLER_ALREADY_SET', {})
    })

    test('[Q7.10] TypeError: the class of the language, with the code', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const error = await reasonOf(newQueue().enqueue('', 1))
      assert.ok(error instanceof TypeError)
      assert.deepEqual([error.constructor, error.name], [TypeError, 'TypeError'])
      assert.equal((error as { code?: unknown }).code, 'INVALID_ARGUMENT')
      assert.equal(error.message, 'id: expected 1 … 512 bytes of UTF-8, got ""')
      assert.equal(isHoldfastError(error), false)
    })
  })
}
