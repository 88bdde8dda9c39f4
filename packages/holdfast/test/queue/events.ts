// What a Queue emits: each event with its arguments, once, and only after the storage confirmed what it says.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Job, JobFailedError, MaxRetriesError, StorageError } from 'holdfast'
import { bench, gate, next, sleep, type TestDriver, until } from './driver.ts'
import { failing, faulty } from './faulty-storage.ts'
import { answersHeld, record } from './watched.ts'
import { defaultType } from 'holdfast/storage'

export function eventTests(driver: TestDriver): void {
  describe(`${driver.name}: events`, () => {
    test('[Q6.01] started comes after connect and the first look, stopped after disconnect; without arguments', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage, blockTimeout: 60 })
      const emitted = record(queue)
      queue.execute(() => {})
      for (const verb of ['connect', 'claim'] as const) {
        const { arrived, release } = answersHeld(line, verb)
        void queue.start()
        await arrived
        await sleep(10)
        assert.deepEqual(emitted, [], `before the answer to ${verb}`)
        release()
      }
      await queue.start()
      assert.deepEqual(emitted, [['started']])
      const { arrived, release } = answersHeld(line, 'disconnect')
      const stopping = queue.stop()
      await arrived
      await sleep(10)
      assert.deepEqual(emitted, [['started']])
      release()
      await stopping
      assert.deepEqual(emitted, [['started'], ['stopped']])
    })

    test('[Q6.01] once for each start and stop, however often they are asked for; also without a handler', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      const emitted = record(queue)
      for (let round = 0; round < 2; round++) {
        await Promise.all([queue.start(), queue.start()])
        await queue.start()
        await Promise.all([queue.stop(), queue.stop({ timeout: 5 })])
      }
      assert.deepEqual(emitted, [['started'], ['stopped'], ['started'], ['stopped']])
    })

    test('[Q6.01] a start that fails emits nothing', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('connect', failing(1))
      const queue = newQueue({ storage: line.storage })
      const emitted = record(queue)
      await assert.rejects(queue.start(), StorageError)
      assert.deepEqual(emitted, [])
      await queue.start()
      assert.deepEqual(emitted, [['started']])
    })

    test('[Q6.02] what a hook throws is an error, and so is a storage that fails; what a handler throws is not', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const hook = new Error('the hook')
      const queue = newQueue({
        storage: line.storage,
        maxRetries: 2,
        afterExecution: ({ id }) => {
          if (id === 'hook') throw hook
        },
      })
      queue.execute((job) => {
        if (job.id === 'own') throw new Error('its own')
      })
      await queue.start()
      const emitted = record(queue)
      const errors = (): unknown[] => emitted.flatMap(([name, error]) => (name === 'error' ? [error] : []))
      await assert.rejects(queue.enqueueAndWait('own', 1), JobFailedError)
      assert.deepEqual(errors(), [])
      await queue.enqueueAndWait('hook', 1)
      const [ofHook] = errors() as Error[]
      assert.ok(ofHook instanceof Error)
      assert.equal(ofHook.cause, hook)
      assert.equal(errors().length, 1)
      line.on('claim', failing())
      const [ofClaim] = await next(queue, 'error')
      assert.ok(ofClaim instanceof StorageError)
      assert.match(ofClaim.message, /claim/)
      line.on('claim', undefined)
      await queue.enqueueAndWait('afterwards', 1)
    })

    test('[Q6.02] what a call rejects with is no event', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage })
      const emitted = record(queue)
      for (const verb of ['add', 'cancel', 'get', 'remove']) line.on(verb, failing())
      await assert.rejects(queue.enqueue('a', 1), StorageError)
      await assert.rejects(queue.enqueueAndWait('a', 1), StorageError)
      await assert.rejects(queue.cancel('a'), StorageError)
      await assert.rejects(queue.getResult('a'), StorageError)
      await assert.rejects(queue.getStatus('a'), StorageError)
      await assert.rejects(queue.updateResultTTL('a', 1), StorageError)
      assert.deepEqual(emitted, [])
    })

    test('[Q6.03] enqueued comes when enqueue or enqueueAndWait accepted a new job, and only then', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage, maxRetries: 1 })
      const emitted = record(queue)
      const enqueued = (): unknown[] => emitted.flatMap(([name, ...args]) => (name === 'enqueued' ? args : []))
      const { arrived, release } = answersHeld(line, 'add')
      const adding = queue.enqueue('a', 1)
      await arrived
      assert.deepEqual(enqueued(), [])
      release()
      await adding
      assert.deepEqual(emitted, [['enqueued', 'a']])
      await queue.enqueue('a', 2)
      await queue.enqueue('b', 1, { delayMs: 60_000 })
      await queue.cancel('b')
      await queue.enqueue('b', 1, { delayMs: 60_000 })
      await assert.rejects(queue.enqueueAndWait('c', 1, { timeout: 0 }))
      await assert.rejects(queue.enqueueAndWait('c', 1, { timeout: 0 }))
      assert.deepEqual(enqueued(), ['a', 'b', 'b', 'c'])
      queue.execute((job) => (job.id === 'c' ? Promise.reject(new Error('no')) : job.id))
      const failed = next(queue, 'failed')
      await queue.start()
      await queue.enqueueAndWait('a', 3)
      await queue.enqueue('a', 4)
      await queue.enqueueAndWait('a', 5)
      await failed
      assert.deepEqual(enqueued(), ['a', 'b', 'b', 'c'])
      await assert.rejects(queue.enqueueAndWait('c', 6), JobFailedError)
      assert.deepEqual(enqueued(), ['a', 'b', 'b', 'c', 'c'])
    })

    test('[Q6.04] completed has the id and the result, and comes once it is recorded', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage })
      const result = { n: [1] }
      queue.execute(() => result)
      await queue.start()
      const completed = next(queue, 'completed')
      const emitted = record(queue)
      const { arrived, release } = answersHeld(line, 'outcomes')
      await queue.enqueue('a', 1)
      await arrived
      await until(async () => (await storage.get([{ type: defaultType, id: 'a' }]))[0]?.state === 'completed')
      await sleep(10)
      assert.deepEqual(emitted, [['enqueued', 'a']])
      release()
      assert.deepEqual(await completed, ['a', result])
      await sleep(10)
      assert.deepEqual(emitted, [
        ['enqueued', 'a'],
        ['completed', 'a', result],
      ])
    })

    test('[Q6.04] a void result is undefined, and what afterExecution made of a result is the result', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({
        afterExecution: (context) => {
          if (context.id === 'changed') context.result = 'by the hook'
        },
      })
      const emitted = record(queue)
      queue.execute(() => {})
      await queue.start()
      for (const id of ['void', 'changed']) {
        const completed = next(queue, 'completed')
        await queue.enqueue(id, 1)
        await completed
      }
      const completed = emitted.filter(([name]) => name === 'completed')
      assert.deepEqual(completed, [
        ['completed', 'void', undefined],
        ['completed', 'changed', 'by the hook'],
      ])
    })

    test('[Q6.05] failing has the id, the error itself and the attempt, and comes once the retry is recorded', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage, backoff: { type: 'fixed', delayMs: 60_000 } })
      const error = new Error('not yet')
      queue.execute(() => Promise.reject(error))
      await queue.start()
      const emitted = record(queue)
      const { arrived, release } = answersHeld(line, 'outcomes')
      await queue.enqueue('a', 1)
      await arrived
      await sleep(10)
      assert.deepEqual(emitted, [['enqueued', 'a']])
      const told = next(queue, 'failing')
      release()
      const [id, given, attempt] = await told
      assert.deepEqual([id, attempt], ['a', 1])
      assert.equal(given, error)
      assert.equal((await queue.getStatus('a'))?.state, 'failing')
    })

    test('[Q6.05] each attempt has its number, and a thrown non-Error comes wrapped, itself as the cause', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ maxRetries: 6 })
      const thrown = [undefined, null, 'text', 42, { an: 'object' }, Symbol('s')]
      queue.execute((job: Job<unknown>) => {
        throw thrown[job.attempts - 1]
      })
      const emitted = record(queue)
      await queue.start()
      await assert.rejects(queue.enqueueAndWait('a', 1), JobFailedError)
      await until(() => emitted.some(([name]) => name === 'failed'))
      const [, ...events] = emitted.filter(([name]) => name !== 'started')
      assert.deepEqual(
        events.map(([name, id, , attempt]) => [name, id, attempt]),
        [...[1, 2, 3, 4, 5].map((attempt) => ['failing', 'a', attempt]), ['failed', 'a', undefined]],
      )
      const errors = events.map(([, , error]) => error as Error)
      assert.ok(errors.every((error) => error instanceof Error))
      assert.deepEqual(
        errors.slice(0, 5).map((error) => error.cause),
        thrown.slice(0, 5),
      )
      assert.equal((errors[5] as MaxRetriesError).lastError.cause, thrown[5])
      assert.equal(errors[2]!.message, 'text')
    })

    test('[Q6.06] failed has the id and a MaxRetriesError, and comes once it is recorded', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage, maxRetries: 2 })
      const last = gate<void>()
      const errors = [new Error('first'), new Error('last')]
      queue.execute(async (job) => {
        if (job.attempts === 2) await last.promise
        throw errors[job.attempts - 1]!
      })
      await queue.start()
      const failingOnce = next(queue, 'failing')
      await queue.enqueue('a', { some: 'payload' })
      await failingOnce
      const emitted = record(queue)
      const { arrived, release } = answersHeld(line, 'outcomes')
      last.resolve()
      await arrived
      await sleep(10)
      assert.deepEqual(emitted, [])
      const failed = next(queue, 'failed')
      release()
      const [id, error] = await failed
      assert.equal(id, 'a')
      assert.ok(error instanceof MaxRetriesError)
      assert.deepEqual([error.jobId, error.attempts, error.payload], ['a', 2, { some: 'payload' }])
      assert.equal(error.lastError, errors[1])
      await sleep(10)
      assert.deepEqual(emitted, [['failed', 'a', error]])
    })
  })
}
