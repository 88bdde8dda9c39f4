// The storage's queue with a fake clock: windows, long delays, long runs, and a storage that fails.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { storedType } from 'holdfast/storage'
import { createTasks, StorageMessageQueue, type StorageMessageQueueOptions } from 'holdfast/tasks'
import { fakeClock } from 'holdfast/testing'
import { faulty } from '../queue/faulty-storage.ts'
import { anything, keepingLogger, withoutFlags } from './fakes.ts'

const [second, minute, day] = [1_000, 60_000, 86_400_000]

function bench(t: TestContext, options?: StorageMessageQueueOptions) {
  const clock = fakeClock()
  const faults = faulty(new MemoryStorage({ clock }))
  const logger = keepingLogger()
  const queue = new StorageMessageQueue(faults.storage, { clock, logger, ...options })
  const stop = new AbortController()
  const began: unknown[] = []
  const ended: Promise<void>[] = []
  t.after(async () => {
    faults.mend()
    faults.on('*', undefined)
    stop.abort()
    const closed = queue.close()
    await clock.advance(minute)
    await Promise.all(ended)
    await closed
  })
  const listen = (handler: (message: unknown) => void = () => {}): void =>
    void ended.push(
      queue.listen(
        (message) => {
          began.push(message)
          return handler(message)
        },
        { signal: stop.signal },
      ),
    )
  return { clock, faults, logger, queue, began, listen }
}

for (const path of ['native', 'kv'] as const) {
  test(`[W3] the TTL counts from the due time, ${path}: delay 1 h, TTL 1 min`, async (t) => {
    const { clock, queue, faults } = bench(t)
    const own = { clock, taskDeduplicationTtl: minute }
    const tasks =
      path === 'native'
        ? createTasks({ queue, ...own })
        : createTasks({ storage: faults.storage, queue: withoutFlags(queue), ...own })
    t.after(() => tasks[Symbol.asyncDispose]())
    const task = tasks.defineTask('t', { schema: anything(), handler: () => {} })
    const send = async (): Promise<string> =>
      (await tasks.enqueueTask(task, 1, { deduplicationKey: 'k', delay: 'PT1H' })).status
    assert.equal(await send(), 'enqueued')
    await clock.advance(30 * minute)
    assert.equal(await send(), 'duplicate')
    await clock.advance(30 * minute + 59 * second)
    assert.equal(await send(), 'duplicate')
    await clock.advance(61 * second)
    assert.equal(await send(), 'enqueued')
  })
}

test('[W3] the window outlives a message that has completed', async (t) => {
  const { clock, queue, began, listen } = bench(t, { deduplicationTtl: minute })
  listen()
  await queue.enqueue(1, { deduplicationKey: 'k' })
  await clock.advance(second)
  assert.deepEqual(began, [1])
  assert.equal((await queue.enqueue(2, { deduplicationKey: 'k' })).status, 'duplicate')
  await clock.advance(minute)
  assert.equal((await queue.enqueue(3, { deduplicationKey: 'k' })).status, 'enqueued')
})

test('[W12] a delay beyond the range of one timer does not fire early, and a thousand delays need no timer each', async (t) => {
  const { clock, queue, began, listen } = bench(t)
  listen()
  await clock.settle()
  const before = clock.pending
  for (let number = 0; number < 1_000; number++) await queue.enqueue('near', { delay: 40 * day + number })
  await queue.enqueue('far', { delay: 60 * day })
  await clock.settle()
  assert.ok(clock.pending <= before + 1, `${clock.pending} timers`)
  assert.deepEqual(began, [])
})

test('[W16] a storage that fails while a queue listens is logged, and listening goes on when it is available again', async (t) => {
  const { clock, faults, logger, queue, began, listen } = bench(t)
  listen()
  await queue.enqueue('before')
  await clock.advance(second)
  faults.on('*', () => Promise.reject(new Error('unavailable')))
  await clock.advance(minute)
  assert.ok(logger.records.some(({ level }) => level === 'error'))
  faults.on('*', undefined)
  await queue.enqueue('after')
  await clock.advance(10 * second)
  assert.deepEqual(began, ['before', 'after'])
})

test('[W16] a storage that cannot be connected at first is retried until it can, or until the abort', async (t) => {
  const { clock, faults, queue, began, listen } = bench(t)
  faults.on('connect', () => Promise.reject(new Error('unavailable')))
  listen()
  await clock.advance(minute)
  const given = new AbortController()
  const other = queue.listen(() => {}, { signal: given.signal })
  await clock.advance(second)
  given.abort()
  await other
  faults.on('connect', undefined)
  await queue.enqueue('after')
  await clock.advance(10 * second)
  assert.deepEqual(began, ['after'])
})

test('[W16] a listen that is aborted while it connects takes no message', async (t) => {
  const { clock, faults, queue } = bench(t)
  await queue.enqueue('waiting')
  const stop = new AbortController()
  const listened = queue.listen(() => assert.fail('it must not run'), { signal: stop.signal })
  stop.abort()
  await listened
  await clock.advance(second)
  assert.deepEqual([faults.count('claim'), faults.connections], [0, 1])
  assert.equal((await queue.getDepth()).ready, 1)
})

test('an enqueue whose answer was lost is repeated without a second message', async (t) => {
  const { clock, faults, queue } = bench(t)
  await queue.getDepth()
  let lost = 0
  faults.on('add', async (apply) => {
    const answer = await apply()
    if (lost++ === 0) throw Object.assign(new Error('cut off'), { transient: true })
    return answer
  })
  const sent = Promise.all([
    queue.enqueue('single', { deduplicationKey: 'a' }),
    queue.enqueueMany([1, 2, 3], { deduplicationKey: 'b' }),
  ])
  await clock.advance(second)
  assert.deepEqual(
    (await sent).map(({ status }) => status),
    ['enqueued', 'enqueued'],
  )
  assert.equal((await queue.getDepth()).queued, 4)
})

test('a call that the driver refuses fails alone, although others were sent with it', async (t) => {
  const { faults, queue } = bench(t)
  await queue.getDepth()
  faults.on('add', (apply, { args: [jobs] }) => {
    const isBad = (jobs as { payload: Uint8Array }[]).some(({ payload }) => Buffer.from(payload).toString() === '"bad"')
    return isBad ? Promise.reject(new TypeError('this one is refused')) : apply()
  })
  const calls = await Promise.allSettled([queue.enqueue('a'), queue.enqueueMany(['b', 'bad', 'c']), queue.enqueue('d')])
  assert.deepEqual(
    calls.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.equal((await queue.getDepth()).queued, 2)
})

test('with nativeRetrial false a throw is still retried: the flag is for the caller', async (t) => {
  const { clock, queue, began, listen } = bench(t, { nativeRetrial: false, retryPolicy: () => second })
  assert.equal(queue.nativeRetrial, false)
  listen(() => {
    if (began.length === 1) throw new Error('once')
  })
  await queue.enqueue('again')
  await clock.advance(5 * second)
  assert.deepEqual(began, ['again', 'again'])
})

test('two concurrent listens of one queue share its messages; close ends both and leaves a shared storage connected', async (t) => {
  const { clock, faults, queue } = bench(t)
  const other = new StorageMessageQueue(faults.storage, { clock, name: 'other' })
  await other.enqueue('stays')
  const began: number[] = [0, 0]
  const ended = [0, 1].map((index) => queue.listen(() => void began[index]!++))
  await clock.settle()
  for (let number = 0; number < 20; number++) await queue.enqueue(number)
  await clock.advance(second)
  assert.equal(began[0]! + began[1]!, 20)
  await queue.close()
  await Promise.all(ended)
  assert.equal((await other.getDepth()).ready, 1)
  assert.equal(faults.connections, 1)
  await other.close()
  assert.equal(faults.connections, 0)
})

test('close does not reject when the storage fails to disconnect', async (t) => {
  const { clock, faults, logger, queue } = bench(t)
  await queue.getDepth()
  faults.on('disconnect', () => Promise.reject(new Error('stuck')))
  const closed = queue.close()
  await clock.advance(minute)
  await closed
  assert.equal(logger.records.filter(({ level }) => level === 'error').length, 1)
})

test('a message that has no attempt left is not run while the storage does not tell whether its last run was lost', async (t) => {
  const { clock, faults, queue, began, listen } = bench(t, { maxAttempts: 1 })
  await queue.enqueue(1)
  const type = storedType('task', 'default')
  // A worker that dies.
  await faults.storage.claim({ worker: 'dead', slots: 1, types: [{ type, leaseMs: second }] })
  faults.on('get', async () => {
    throw new Error('unreadable')
  })
  await clock.advance(second)
  listen()
  await clock.advance(10 * second)
  assert.deepEqual(began, [])
  faults.on('get', undefined)
  await clock.advance(2 * second)
  const { types } = await faults.storage.count({})
  assert.deepEqual([began.length, types[0]?.states.failed], [0, 1])
})

test('a message that has no attempt left is not run, although its last claim was released', async (t) => {
  const { clock, faults, queue, began, listen } = bench(t, { maxAttempts: 1 })
  await queue.enqueue(1)
  const types = [{ type: storedType('task', 'default'), leaseMs: second }]
  await faults.storage.claim({ worker: 'dead', slots: 1, types })
  await clock.advance(second)
  // As a worker that is stopped between its claim and the run.
  const { jobs } = await faults.storage.claim({ worker: 'stopped', slots: 1, types })
  const [{ type, id, worker, attempt }] = jobs as [(typeof jobs)[number]]
  await faults.storage.settle([{ type, id, worker, attempt, kind: 'released' }])
  listen()
  await clock.advance(2 * second)
  const { types: counted } = await faults.storage.count({})
  assert.deepEqual([began.length, counted[0]?.states.failed], [0, 1])
})

test('a message that has no attempt left is not run by a worker that learns late how it ended', async (t) => {
  const { clock, faults, queue, began, listen } = bench(t, { maxAttempts: 1, leaseMs: 2 * second })
  await queue.enqueue(1)
  const types = [{ type: storedType('task', 'default'), leaseMs: second }]
  await faults.storage.claim({ worker: 'dead', slots: 1, types })
  await clock.advance(second)
  // The answer to its question comes after its lease, and after another worker has ended the message.
  faults.on('extend', () => new Promise(() => {}))
  faults.on('get', async (apply) => {
    await new Promise<void>((resolve) => void clock.after(3 * second, resolve))
    return apply()
  })
  listen()
  await clock.advance(2 * second)
  const { jobs } = await faults.storage.claim({ worker: 'other', slots: 1, types })
  const [{ type, id, worker, attempt }] = jobs as [(typeof jobs)[number]]
  await faults.storage.settle([{ type, id, worker, attempt, kind: 'failed' }])
  await clock.advance(10 * second)
  assert.deepEqual(began, [])
})
