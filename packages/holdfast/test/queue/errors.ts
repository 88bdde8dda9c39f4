// The errors that callers, handlers and listeners meet: class, code, fields, words, and what JSON makes of them.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  JobCancelledError,
  JobFailedError,
  JobNotFoundError,
  MaxRetriesError,
  SerializationError,
  StorageError,
  TimeoutError,
} from 'holdfast'
import { bench, next, type TestDriver, until, duplicate } from './driver.ts'
import { assertOurs, reasonOf } from './error-checks.ts'
import { failing, faulty, losingAnswers } from './faulty-storage.ts'
import { defaultType } from 'holdfast/storage'

export function errorTests(driver: TestDriver): void {
  describe(`${driver.name}: errors`, () => {
    test('[Q7.01] TimeoutError: enqueueAndWait without an outcome in time', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      for (const timeout of [0, 20]) {
        const error = await reasonOf(queue.enqueueAndWait('x', 1, { timeout }))
        assert.ok(error instanceof TimeoutError)
        assertOurs(error, 'TimeoutError', 'TIMEOUT', { jobId: 'x', timeout })
        assert.match(error.message, new RegExp(`^Job 'x': it did not end within ${timeout} ms\\. .*the job goes on`))
      }
      assert.equal((await queue.getStatus('x'))?.state, 'queued')
    })

    test('[Q7.02] [trap 16] JobFailedError: what the handler threw as details, and as JSON; the message has neither', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ maxRetries: 2 })
      const thrown = Object.assign(new TypeError('no such thing', { cause: new Error('deeper') }), { code: 'E_NONE' })
      queue.execute(() => Promise.reject(thrown))
      await queue.start()
      const error = await reasonOf(queue.enqueueAndWait('x', 1))
      assert.ok(error instanceof JobFailedError)
      const { details, originalError } = error
      assertOurs(error, 'JobFailedError', 'JOB_FAILED', { jobId: 'x', attempts: 2, details, originalError })
      assert.equal(error.message, "Job 'x' failed: no such thing")
      const { name, message, code, stack, cause } = details
      assert.deepEqual([name, message, code], ['TypeError', 'no such thing', 'E_NONE'])
      assert.equal(stack, thrown.stack)
      assert.equal(cause?.message, 'deeper')
      assert.equal(typeof originalError, 'string')
      assert.deepEqual(JSON.parse(originalError), details)
      assert.deepEqual((await queue.getStatus('x'))?.error, details)
    })

    test('[Q7.03] JobCancelledError: the job was cancelled meanwhile', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      const waiting = reasonOf(queue.enqueueAndWait('x', 1))
      await until(async () => (await queue.cancel('x')).status === 'cancelled')
      const error = await waiting
      assert.ok(error instanceof JobCancelledError)
      assertOurs(error, 'JobCancelledError', 'JOB_CANCELLED', { jobId: 'x' })
    })

    test('[Q7.04] JobNotFoundError: the job went meanwhile', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      const enqueued = next(queue, 'enqueued')
      const waiting = reasonOf(queue.enqueueAndWait('x', 1))
      await enqueued
      await storage.remove([{ type: defaultType, id: 'x' }], { trees: true })
      const error = await waiting
      assert.ok(error instanceof JobNotFoundError)
      assertOurs(error, 'JobNotFoundError', 'JOB_NOT_FOUND', { jobId: 'x' })
    })

    test('[Q7.05] MaxRetriesError: the failed event, with the last error and the payload; JSON has no payload', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ maxRetries: 2 })
      const errors = [new Error('first'), Object.assign(new RangeError('last'), { code: 'E_LAST' })]
      queue.execute((job) => Promise.reject(errors[job.attempts - 1]!))
      await queue.start()
      const failed = next(queue, 'failed')
      await queue.enqueue('x', { a: 'secret' })
      const [, error] = await failed
      assert.ok(error instanceof MaxRetriesError)
      assert.deepEqual(
        [error.name, error.code, error.jobId, error.attempts],
        ['MaxRetriesError', 'MAX_RETRIES', 'x', 2],
      )
      assert.equal(error.lastError, errors[1])
      assert.equal(error.cause, errors[1])
      assert.deepEqual(error.payload, { a: 'secret' })
      assert.equal(error.message, "Job 'x' failed after 2 attempts: last")
      const json = JSON.stringify(error)
      assert.ok(!json.includes('secret'))
      assert.ok(!('payload' in error.toJSON()))
      const { lastError, ...rest } = JSON.parse(json) as { lastError: Record<string, unknown> }
      const { name, code, message, stack } = lastError
      assert.deepEqual([name, code, message, stack], ['RangeError', 'E_LAST', 'last', errors[1]!.stack])
      const expected = { name: 'MaxRetriesError', code: 'MAX_RETRIES', message: error.message, jobId: 'x', attempts: 2 }
      assert.deepEqual(rest, expected)
    })

    test('[Q7.05] its payload is undefined if it cannot be decoded', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<unknown, unknown>({
        maxRetries: 1,
        payloadSerde: { serialize: () => Buffer.from('x'), deserialize: () => assert.fail('not mine') },
      })
      queue.execute(() => {})
      await queue.start()
      const failed = next(queue, 'failed')
      await queue.enqueue('x', 1)
      const [, error] = await failed
      assert.equal(error.payload, undefined)
      assert.ok(error.lastError instanceof SerializationError)
      assert.equal(error.lastError.what, 'payload')
    })

    test('[Q7.06] StorageError: of every call, with its cause; maybeApplied of those that write', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage })
      await queue.start()
      for (const [verb, maybeApplied, call] of [
        ['listen', false, () => queue.enqueueAndWait('x', 1)],
        ['add', true, () => queue.enqueueAndWait('x', 1)],
        ['add', true, () => queue.enqueue('x', 1)],
        ['cancel', true, () => queue.cancel('x')],
        ['remove', true, () => queue.updateResultTTL('x', 1)],
        ['get', false, () => queue.getResult('x')],
        ['get', false, () => queue.getStatus('x')],
      ] as const) {
        line.on(verb, failing())
        const error = await reasonOf(call())
        line.on(verb, undefined)
        assert.ok(error instanceof StorageError)
        assertOurs(error, 'StorageError', 'STORAGE_ERROR', { maybeApplied })
        assert.ok(error.cause instanceof Error)
        assert.ok(error.message.includes(verb) && error.message.includes(error.cause.message))
        assert.equal((error.toJSON().cause as { message: string }).message, error.cause.message)
      }
    })

    test('[Q7.06] the answer was lost: maybeApplied, and the same call again is safe', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('add', losingAnswers(1))
      const queue = newQueue({ storage: line.storage })
      const error = await reasonOf(queue.enqueue('x', 1))
      assert.ok(error instanceof StorageError)
      assert.equal(error.maybeApplied, true)
      assert.deepEqual(await queue.enqueue('x', 1), duplicate('x', 'queued'))
    })

    test('[Q7.06] a driver that knows better says so', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('add', () => Promise.reject(Object.assign(new Error('refused'), { maybeApplied: false })))
      const error = await reasonOf(newQueue({ storage: line.storage }).enqueue('x', 1))
      assert.ok(error instanceof StorageError)
      assert.equal(error.maybeApplied, false)
    })

    test('[Q7.07] SerializationError: in reads, waits and cached answers, with its cause', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const worker = newQueue()
      worker.execute(() => 'a result')
      await worker.start()
      const cause = new Error('not mine')
      const resultSerde = {
        serialize: () => Buffer.alloc(0),
        deserialize: () => {
          throw cause
        },
      }
      const reader = newQueue({ resultSerde })
      const calls = [
        () => reader.enqueueAndWait('x', 1),
        () => reader.getResult('x'),
        () => reader.getStatus('x'),
        () => reader.enqueue('x', 1),
        () => reader.enqueueAndWait('x', 1),
      ]
      for (const call of calls) {
        const error = await reasonOf(call())
        assert.ok(error instanceof SerializationError)
        assertOurs(error, 'SerializationError', 'SERIALIZATION_ERROR', { what: 'result' })
        assert.equal(error.cause, cause)
      }
      assert.equal(await worker.getResult('x'), 'a result')
    })

    test('[Q7.07] as the error of a job: code, what and cause are stored', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      queue.execute(() => ({ at: [() => {}] }))
      await queue.start()
      const error = await reasonOf(queue.enqueueAndWait('x', 1))
      assert.ok(error instanceof JobFailedError)
      const { name, code, what, cause } = error.details
      assert.deepEqual([name, code, what], ['SerializationError', 'SERIALIZATION_ERROR', 'result'])
      assert.equal(error.details.path, 'result.at[0]')
      assert.match(error.details.message, /^result\.at\[0\]: a function cannot be stored$/)
      assert.ok(cause)
    })
  })
}
