// Ids, names and worker ids that mean something to a path, a key, a query or an object. Here they mean nothing: they are
// accepted, and come back as they were, side by side.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JobCancelledError, JobFailedError, type Queue } from 'holdfast'
import { bench, countAdds, type TestDriver, until, duplicate } from './driver.ts'

const hostile = [
  '../../x',
  '/',
  'a\\b',
  '.',
  '..',
  'a\nb',
  'a\tb',
  ' ',
  ' x ',
  '__proto__',
  'constructor',
  'toString',
  'user:42',
  'a:exp',
  'x.job',
  'a.job.b',
  'CON',
  'nul.txt',
  '{a}',
  '{',
  '%2e',
  '%',
  '*',
  '?',
  "'; --",
  '"',
  '$1',
  '\u0001\u007f',
  '\u2028',
  '👩‍👩‍👧',
  'ÅÄÖ',
  '\ufeff',
]

/** Each pair looks, or folds, alike. */
const twins = [
  ['A', 'a'],
  ['X.JOB', 'x.job'],
  ['ẞ', 'ß'],
  ['é', 'e\u0301'],
  ['한', '\u1112\u1161\u11ab'],
  ['ﬁ', 'fi'],
  ['K', '\u212a'],
].flat()

const longest = ['x'.repeat(512), 'é'.repeat(256), '👍'.repeat(128), `${'/'.repeat(511)}.`, '%'.repeat(512)]

export function hostileIdTests(driver: TestDriver): void {
  describe(`${driver.name}: hostile ids`, () => {
    for (const [row, what, ids] of [
      ['[Q5.02] [trap 44]', 'ids that mean something elsewhere', [...hostile, ...longest]],
      ['[Q5.03]', 'ids that look alike', twins],
    ] as const) {
      test(`${row} ${what}: added, read, listed and cancelled as they are`, async (t) => {
        const { queue: newQueue, storage } = await bench(t, driver)
        const queue = newQueue()
        const enqueued: string[] = []
        const cancelled: string[] = []
        queue.on('enqueued', (id) => enqueued.push(id))
        queue.on('cancelled', (id) => cancelled.push(id))
        for (const id of ids) assert.deepEqual(await queue.enqueue(id, id), { status: 'queued' }, id)
        for (const id of ids) {
          assert.deepEqual(await queue.enqueue(id, 0), duplicate(id, 'queued'), id)
          assert.equal((await queue.getStatus(id))?.id, id)
          assert.equal(await queue.getResult(id), null)
        }
        const { items } = await storage.list({ of: 'jobs', limit: 1_000, parts: ['payload'] })
        assert.deepEqual(items.map(({ id }) => id).toSorted(), [...ids].toSorted())
        for (const { id, payload } of items) assert.equal(JSON.parse(Buffer.from(payload!).toString()), id)
        const [first, ...others] = ids
        assert.deepEqual(await queue.cancel(first!), { status: 'cancelled' })
        for (const id of others) assert.equal((await queue.getStatus(id))?.state, 'queued', id)
        for (const id of others) assert.deepEqual(await queue.cancel(id), { status: 'cancelled' }, id)
        assert.deepEqual(enqueued, ids)
        assert.deepEqual(cancelled, ids)
      })

      test(`${row} ${what}: run, awaited and answered from the cache as they are`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const producer = newQueue()
        const worker = newQueue({ concurrency: 5 })
        const completed: string[] = []
        worker.on('completed', (id) => completed.push(id))
        worker.execute((job) => [job.id, job.payload])
        await worker.start()
        const results = await Promise.all(ids.map((id) => producer.enqueueAndWait(id, `payload of ${id}`)))
        assert.deepEqual(
          results,
          ids.map((id) => [id, `payload of ${id}`]),
        )
        // A waiter may hear of an end before the worker does.
        await until(() => completed.length >= ids.length)
        assert.deepEqual(completed.toSorted(), [...ids].toSorted())
        for (const id of ids) {
          const result = [id, `payload of ${id}`]
          assert.deepEqual(await producer.getResult(id), result)
          assert.deepEqual(await producer.enqueue(id, 0), { status: 'completed', result })
          assert.deepEqual(await producer.updateResultTTL(id, 60_000), { status: 'updated' })
        }
      })

      test(`${row} ${what}: retried, failed and told of as they are`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const queue = newQueue({ concurrency: 5, maxRetries: 2 })
        const events = queue.events()
        await events.ready
        const failing: string[] = []
        queue.on('failing', (id) => failing.push(id))
        queue.execute((job) => {
          throw new Error(`of ${job.id}`)
        })
        await queue.start()
        const errors = await Promise.all(ids.map((id) => queue.enqueueAndWait(id, 0).catch((error: unknown) => error)))
        ids.forEach((id, index) => {
          const error = errors[index]
          assert.ok(error instanceof JobFailedError)
          assert.deepEqual([error.jobId, error.details.message], [id, `of ${id}`])
          assert.equal(error.message, `Job '${id}' failed: of ${id}`)
        })
        assert.deepEqual(failing.toSorted(), [...ids].toSorted())
        const failed: string[] = []
        for await (const event of events) {
          if (event.event === 'failed') failed.push(event.id)
          if (failed.length === ids.length) break
        }
        assert.deepEqual(failed.toSorted(), [...ids].toSorted())
      })
    }

    const names = [...new Set([...hostile, ...twins]), 'x'.repeat(256), 'é'.repeat(128), '/'.repeat(256)]

    test('[Q5.04] [trap 44] names follow the same rules: each is a queue of its own', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queues = names.map((name) => newQueue({ name }))
      for (const queue of queues) assert.deepEqual(await queue.enqueue('x', queue.name), { status: 'queued' })
      const seen = new Map<string, unknown>()
      for (const queue of queues) {
        queue.execute((job) => void seen.set(queue.name, job.payload))
        await queue.start()
      }
      await until(() => seen.size === names.length, 'each name has its run')
      assert.deepEqual([...seen.keys()].toSorted(), names.toSorted())
      for (const [name, payload] of seen) assert.equal(payload, name)
    })

    test('[Q5.04] [trap 44] names and ids are not joined', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const added = countAdds(storage)
      const parts = [
        ['a', 'b:c'],
        ['a:b', 'c'],
        ['a/b', 'c'],
        ['a', 'b/c'],
        ['default', 'x'],
        ['types', 'default'],
      ] as const
      const queues = parts.map(([name]) => newQueue({ name }))
      const enqueue = async (queue: Queue<unknown, unknown>, index: number): Promise<void> => {
        assert.deepEqual(await queue.enqueue(parts[index]![1], index), { status: 'queued' })
      }
      await Promise.all(queues.map(enqueue))
      const waits = queues
        .slice(1)
        .map((queue, index) => assert.rejects(queue.enqueueAndWait(parts[index + 1]![1], 0), JobCancelledError))
      // One that came after its cancel would be another job.
      await until(() => added() === parts.length + waits.length)
      assert.deepEqual(await queues[0]!.cancel('b:c'), { status: 'cancelled' })
      for (const [index, queue] of queues.entries()) {
        assert.equal((await queue.getStatus(parts[index]![1]))?.state, index === 0 ? 'cancelled' : 'queued')
      }
      for (const [index, queue] of queues.entries()) await queue.cancel(parts[index]![1])
      await Promise.all(waits)
    })

    test('[Q5.04] [trap 44] worker ids follow the same rules, and come back in the status', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      for (const workerId of names) {
        const queue = newQueue({ workerId })
        assert.equal(queue.workerId, workerId)
        queue.execute(async (job) => (await queue.getStatus(job.id))?.workerId)
        await queue.start()
        assert.equal(await queue.enqueueAndWait(`for ${workerId}`, 0), workerId)
        assert.equal((await queue.getStatus(`for ${workerId}`))?.workerId, workerId)
        await queue.stop()
      }
    })
  })
}
