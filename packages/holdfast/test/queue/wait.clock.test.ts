// How long a wait lasts, and what it does when hints or answers do not come.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JobFailedError, JobNotFoundError, StorageError, TimeoutError } from 'holdfast'
import { defaultType, type NewJob, type Signal } from 'holdfast/storage'
import { clockBench, fate } from './clock-bench.ts'

describe('waits, to the millisecond', () => {
  test('[Q4.15] the timeout is 30 s by default, counted from the call', async (t) => {
    const { queue: newQueue, to } = clockBench(t)
    const queue = newQueue()
    const wait = fate(queue.enqueueAndWait('a', 1))
    const longer = fate(queue.enqueueAndWait('a', 1, { timeout: 30_001 }))
    await to(29_999)
    assert.equal(wait.state, 'pending')
    await to(30_000)
    assert.ok(wait.error instanceof TimeoutError && wait.error.timeout === 30_000)
    assert.equal(longer.state, 'pending')
    await to(30_001)
    assert.equal(longer.state, 'rejected')
  })

  for (const verb of ['connect', 'listen', 'add']) {
    test(`[Q4.15] it covers a slow ${verb}: TimeoutError in time, and the job is added all the same`, async (t) => {
      const { queue: newQueue, clock, line, to } = clockBench(t)
      line.on(verb, async (apply) => {
        await new Promise<void>((resolve) => void clock.after(1_000, resolve))
        return apply()
      })
      const queue = newQueue()
      const wait = fate(queue.enqueueAndWait('a', 1, { timeout: 500 }))
      await to(499)
      assert.equal(wait.state, 'pending')
      await to(500)
      assert.ok(wait.error instanceof TimeoutError, String(wait.error))
      await to(1_500)
      assert.equal((await queue.getStatus('a'))?.state, 'queued')
    })
  }

  test('[Q4.15] a storage that does not answer at all: TimeoutError in time, or StorageError before', async (t) => {
    const { queue: newQueue, line, clock, to } = clockBench(t)
    const queue = newQueue()
    await queue.start()
    line.cut()
    const [short, long] = [
      fate(queue.enqueueAndWait('a', 1, { timeout: 2_000 })),
      fate(queue.enqueueAndWait('b', 1, { timeout: 60_000 })),
    ]
    await to(2_000)
    assert.ok(short.error instanceof TimeoutError)
    await to(10_000)
    assert.ok(long.error instanceof StorageError, String(long.error))
    await clock.settle()
  })

  test('[Q4.15] [trap 29] a last look at the storage comes first: a lost hint costs no result', async (t) => {
    const { queue: newQueue, line, storage, to } = clockBench(t)
    line.lose(() => true)
    const waiter = newQueue()
    const worker = newQueue({ storage })
    worker.execute((job) => {
      if (job.id === 'bad') throw new Error('never')
      return 'done'
    })
    const good = fate(waiter.enqueueAndWait('good', 1, { timeout: 3_000 }))
    const bad = fate(waiter.enqueueAndWait('bad', 1, { timeout: 3_000, maxAttempts: 1 }))
    const never = fate(waiter.enqueueAndWait('never', 1, { timeout: 3_000, delayMs: 60_000 }))
    await worker.start()
    await to(2_999)
    assert.deepEqual([good.state, bad.state, never.state], ['pending', 'pending', 'pending'])
    await to(3_000)
    assert.equal(good.value, 'done')
    assert.ok(bad.error instanceof JobFailedError)
    assert.ok(never.error instanceof TimeoutError)
  })

  test('[Q4.13] [trap 29] a lost hint: the outcome within 5 s', async (t) => {
    const { queue: newQueue, line, storage, to } = clockBench(t)
    line.lose(() => true)
    const waiter = newQueue()
    const worker = newQueue({ storage })
    worker.execute(() => 'done')
    const waits = ['a', 'b', 'c'].map((id) => fate(waiter.enqueueAndWait(id, 1, { timeout: Infinity })))
    const cancelled = fate(waiter.enqueueAndWait('d', 1, { timeout: Infinity, delayMs: 60_000 }))
    await worker.start()
    await worker.cancel('d')
    await to(5_000)
    for (const wait of waits) assert.equal(wait.value, 'done')
    assert.equal((cancelled.error as { code?: string }).code, 'JOB_CANCELLED')
    assert.ok(line.count('get') <= 2, 'one look for all')
  })

  test('[Q4.15] a last look that is not answered does not keep the caller', async (t) => {
    const { queue: newQueue, line, clock, to } = clockBench(t)
    const queue = newQueue()
    const wait = fate(queue.enqueueAndWait('a', 1, { timeout: 1_000 }))
    await clock.settle()
    line.cut()
    await to(999)
    assert.equal(wait.state, 'pending')
    await to(2_000)
    assert.ok(wait.error instanceof TimeoutError)
  })

  test('[Q4.14] an outcome that expired before it was read: JobNotFoundError', async (t) => {
    const { queue: newQueue, line, storage, clock, to } = clockBench(t)
    line.lose(() => true)
    const waiter = newQueue()
    const worker = newQueue({ storage })
    worker.execute(() => 'done')
    const wait = fate(waiter.enqueueAndWait('a', 1, { resultTTL: 500 }))
    await worker.start()
    await clock.settle()
    await to(5_000)
    assert.ok(wait.error instanceof JobNotFoundError, String(wait.error))
  })

  test('[Q4.14] everything is cleared: JobNotFoundError, with the next look', async (t) => {
    const { queue: newQueue, storage, clock, to } = clockBench(t)
    const queue = newQueue()
    const wait = fate(queue.enqueueAndWait('a', 1, { timeout: Infinity }))
    await clock.settle()
    await storage.clear()
    await to(5_000)
    assert.ok(wait.error instanceof JobNotFoundError, String(wait.error))
  })

  test('[Q4.14] a hint that tells a result ends the wait for that job, before or after its add was answered', async (t) => {
    const { queue: newQueue, storage, line, clock } = clockBench(t)
    const queue = newQueue()
    let sendHint: ((signal: Signal) => void) | undefined
    const { listen } = storage
    storage.listen = (topics, onSignal) => {
      if (topics[0]!.kind === 'done') sendHint = onSignal
      return listen.call(storage, topics, onSignal)
    }
    const told = (id: string, token: string): void => {
      const completed = [{ id, token, result: Buffer.from('"told"') }]
      sendHint!({ kind: 'done', type: defaultType, ids: [id], completed })
    }
    const [answered, late] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()]
    line.on('add', async (apply, { args }) => {
      const verdicts = await apply()
      const [{ id, token }] = args[0] as [NewJob]
      if (id !== 'late') return verdicts
      late.resolve(token)
      await answered.promise
      return verdicts
    })
    const [one, other] = [fate(queue.enqueueAndWait('one', 1)), fate(queue.enqueueAndWait('other', 1))]
    await clock.settle()
    const before = fate(queue.enqueueAndWait('late', 1))
    told('late', await late.promise)
    answered.resolve()
    told('other', 'of an earlier job of this id')
    told('one', (await storage.get([{ type: defaultType, id: 'one' }]))[0]!.token)
    await clock.settle()
    assert.deepEqual([one.value, before.value], ['told', 'told'])
    assert.equal(other.state, 'pending')
  })

  test('[Q4.13] a job that ends before the answer to its add came: its outcome, without waiting for the poll', async (t) => {
    const { queue: newQueue, storage, line, clock, to } = clockBench(t)
    const [waiter, worker] = [newQueue(), newQueue({ storage })]
    worker.execute(() => 'done')
    await worker.start()
    line.on('add', async (apply) => {
      const verdicts = await apply()
      await new Promise<void>((resolve) => void clock.after(100, resolve))
      return verdicts
    })
    const wait = fate(waiter.enqueueAndWait('a', 1))
    await to(99)
    assert.equal((await worker.getStatus('a'))?.state, 'completed')
    assert.equal(wait.state, 'pending')
    await to(100)
    assert.equal(wait.value, 'done')
  })

  test('[Q4.13] with hints, an outcome needs no time', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const [waiter, worker] = [newQueue(), newQueue({ blockTimeout: 60 })]
    worker.execute((job) => {
      if (job.payload === 'bad') throw new Error('never')
      return 'done'
    })
    await worker.start()
    await clock.settle()
    const waits = [
      fate(waiter.enqueueAndWait('a', 'good')),
      fate(waiter.enqueueAndWait('b', 'bad', { maxAttempts: 2 })),
      fate(waiter.enqueueAndWait('c', 'good', { delayMs: 60_000 })),
    ]
    await clock.settle()
    await worker.cancel('c')
    await clock.settle()
    assert.equal(waits[0]!.value, 'done')
    assert.deepEqual(
      waits.slice(1).map(({ error }) => (error as { code: string }).code),
      ['JOB_FAILED', 'JOB_CANCELLED'],
    )
  })

  test('[Q4.16] [Q4.17] waits that are over leave no timer behind', async (t) => {
    const { queue: newQueue, clock, to } = clockBench(t)
    const queue = newQueue()
    await queue.start()
    const before = clock.pending
    const controller = new AbortController()
    const waits = [
      queue.enqueueAndWait('a', 1, { timeout: 100 }),
      queue.enqueueAndWait('a', 1, { timeout: 0 }),
      queue.enqueueAndWait('a', 1, { timeout: Infinity, signal: controller.signal }),
      queue.enqueueAndWait('b', 1),
    ]
    const settled = Promise.allSettled(waits)
    await to(50)
    assert.ok(clock.pending > before)
    controller.abort()
    await queue.cancel('b')
    await to(100)
    assert.deepEqual(
      (await settled).map(({ status }) => status),
      ['rejected', 'rejected', 'rejected', 'rejected'],
    )
    assert.equal(clock.pending, before)
  })

  for (const [what, options] of [
    ['a resultTTL of 50 ms', { resultTTL: 50 }],
    ['records that are deleted at their end', { retention: { completed: { ageMs: 0 } } }],
  ] as const) {
    test(`a wait for a job that completes in this process has its result, with ${what} and slow reads`, async (t) => {
      const { queue: newQueue, line, clock, to } = clockBench(t)
      line.on('get', async (apply) => {
        await new Promise<void>((resolve) => void clock.after(200, resolve))
        return apply()
      })
      const queue = newQueue<number, number>(options)
      queue.execute(({ payload }) => payload + 1)
      await queue.start()
      const wait = fate(queue.enqueueAndWait('a', 1))
      await to(1_000)
      assert.deepEqual(wait, { state: 'fulfilled', value: 2 })
    })
  }

  test('a wait takes the result of its own job only, not of an earlier one with the id', async (t) => {
    const { queue: newQueue, to } = clockBench(t)
    const [worker, waiter] = [newQueue<number, number>(), newQueue<number, number>()]
    const first = Promise.withResolvers<number>()
    worker.execute(({ payload }) => (payload === 1 ? first.promise : payload))
    await worker.start()
    await worker.enqueue('a', 1, { retention: { completed: { ageMs: 0 } } })
    await to(10)
    first.resolve(1)
    const wait = fate(waiter.enqueueAndWait('b', 2))
    const own = fate(worker.enqueueAndWait('c', 3))
    await to(1_000)
    assert.deepEqual([wait.value, own.value], [2, 3])
    const again = fate(worker.enqueueAndWait('a', 4))
    await to(2_000)
    assert.equal(again.value, 4)
  })
})
