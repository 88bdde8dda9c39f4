// Who connects when, and who disconnects; one storage for many.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HoldfastError, type Queue, Reaper, StorageError } from 'holdfast'
import { closable } from './closable-storage.ts'
import { bench, type TestDriver } from './driver.ts'
import { failing } from './faulty-storage.ts'

const uses: Record<string, (queue: Queue<unknown, unknown>) => Promise<unknown>> = {
  enqueue: (queue) => queue.enqueue('a', 1),
  enqueueAndWait: (queue) => queue.enqueueAndWait('a', 1, { timeout: 0 }).catch(() => {}),
  cancel: (queue) => queue.cancel('a'),
  getResult: (queue) => queue.getResult('a'),
  getStatus: (queue) => queue.getStatus('a'),
  updateResultTTL: (queue) => queue.updateResultTTL('a', 1_000),
  events: (queue) => queue.events().ready,
}

const isStorageError = (error: unknown): boolean => error instanceof StorageError && !error.maybeApplied
const isStopped = (error: unknown): boolean => error instanceof HoldfastError && error.code === 'QUEUE_STOPPED'

export function connectionTests(driver: TestDriver): void {
  describe(`${driver.name}: connections`, () => {
    for (const [what, use] of Object.entries(uses)) {
      test(`[§3] [trap 22] ${what} before start connects, and that count passes to start and back by stop`, async (t) => {
        const { queue: newQueue, storage } = await bench(t, driver)
        const line = closable(storage)
        const queue = newQueue({ storage: line.storage })
        assert.equal(line.count(), 0, 'a queue that was made touches nothing')
        await use(queue)
        assert.equal(line.connections, 1)
        await Promise.all([use(queue), use(queue)])
        await queue.start()
        assert.deepEqual([line.connections, line.count('connect')], [1, 1])
        await queue.stop()
        assert.deepEqual([line.connections, line.count('disconnect')], [0, 1])
      })
    }

    test('[§3] many calls at once before start connect once', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      const queue = newQueue({ storage: line.storage })
      await Promise.all([...Object.values(uses).map((use) => use(queue)), queue.start()])
      assert.equal(line.count('connect'), 1)
      await queue.stop()
      assert.equal(line.connections, 0)
    })

    test('[§3] without a start, stop gives the count back', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      const queue = newQueue({ storage: line.storage })
      await queue.enqueue('a', 1)
      await queue.stop()
      assert.equal(line.connections, 0)
    })

    test('[§3] [trap 22] a storage that is open already is used, and stays open', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      await line.storage.connect()
      const queue = newQueue({ storage: line.storage })
      await queue.enqueue('a', 1)
      await queue.start()
      await queue.stop()
      assert.equal(line.connections, 1)
      assert.equal((await queue.getStatus('a'))?.state, 'queued')
      await line.storage.disconnect()
    })

    test('[§3] a connect that fails: StorageError, nothing behind, and the next start tries afresh', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      line.on('connect', failing(1, 2, 3))
      const queue = newQueue({ storage: line.storage })
      queue.execute(() => 'done')
      let started = 0
      queue.on('started', () => void started++)
      await assert.rejects(queue.start(), isStorageError)
      await assert.rejects(queue.start(), isStorageError)
      await assert.rejects(queue.enqueue('a', 1), isStorageError)
      assert.deepEqual([line.connections, started, line.count()], [0, 0, 3])
      await queue.start()
      assert.equal(await queue.enqueueAndWait('a', 1), 'done')
      assert.deepEqual([line.connections, started], [1, 1])
    })

    test('[§3] a start that fails after connecting gives its connection back; the queue is not stopped by that', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      line.on('listen', failing(1, 2))
      const queue = newQueue({ storage: line.storage })
      queue.execute(() => 'done')
      await assert.rejects(queue.start(), StorageError)
      assert.equal(line.connections, 0)
      assert.deepEqual(await queue.enqueue('a', 1), { status: 'queued' })
      await assert.rejects(queue.start(), StorageError)
      assert.equal(line.connections, 1, 'that of the enqueue stays')
      await queue.start()
      assert.equal(await queue.enqueueAndWait('b', 1), 'done')
      await queue.stop()
      assert.equal(line.connections, 0)
    })

    test('[§3] [trap 13] [trap 47] two queues and a Reaper on one storage: each may stop while the others go on', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      const config = { storage: line.storage, leaseMs: 60_000, visibilityTimeout: 60_000 }
      const [one, other, third] = [newQueue(config), newQueue(config), newQueue(config)]
      const reaper = new Reaper({ storage: line.storage, visibilityTimeout: 400 })
      t.after(() => reaper.stop())
      other.execute((job) => (job.payload === 'stall' && job.attempts === 1 ? new Promise(() => {}) : job.attempts))
      await Promise.all([one.start(), other.start(), third.start(), reaper.start()])
      assert.equal(line.connections, 4)
      const waits = [one.enqueueAndWait('a', 1), other.enqueueAndWait('b', 1)]
      assert.deepEqual(await Promise.all(waits), [1, 1])
      const wait = other.enqueueAndWait('c', 1, { delayMs: 50 })
      await one.stop()
      assert.equal(await wait, 1)
      await third.stop({ timeout: 0 })
      const stalled = new Promise((resolve) => reaper.once('stalled', resolve))
      await other.enqueue('d', 'stall')
      assert.equal(await stalled, 'd')
      await reaper.stop()
      assert.equal(line.connections, 1)
      await other.stop({ timeout: 0 })
      assert.equal(line.connections, 0)
    })

    test('[§3] adds that are under way when the queue stops: QUEUE_STOPPED, and not tried one by one', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      const queue = newQueue({ storage: line.storage })
      await queue.start()
      const stopped = Promise.withResolvers<void>()
      line.on('add', async () => {
        await stopped.promise
        throw new HoldfastError('STORAGE_CLOSED', 'the storage is closed')
      })
      const adds = Promise.allSettled([queue.enqueue('a', 1), queue.enqueue('b', 1), queue.enqueue('c', 1)])
      await queue.stop()
      stopped.resolve()
      for (const end of await adds) assert.ok(end.status === 'rejected' && isStopped(end.reason))
      assert.equal(line.count('add'), 1)
    })

    test('[§3] a stopped queue opens nothing: QUEUE_STOPPED, or it works while another keeps the storage open', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      const [queue, other] = [newQueue({ storage: line.storage }), newQueue({ storage: line.storage })]
      await queue.start()
      await queue.enqueue('a', 1)
      await queue.stop()
      for (const [what, use] of Object.entries(uses)) {
        if (what === 'enqueueAndWait') continue
        await assert.rejects(use(queue), isStopped, what)
      }
      await assert.rejects(queue.enqueueAndWait('a', 1), isStopped)
      assert.equal(line.connections, 0)
      await other.start()
      assert.deepEqual(await queue.enqueue('b', 1), { status: 'queued' })
      assert.equal((await queue.getStatus('a'))?.state, 'queued')
      other.execute((job) => job.id)
      assert.equal(await queue.enqueueAndWait('b', 1), 'b')
      assert.deepEqual(await queue.cancel('b'), { status: 'completed' })
      assert.equal(line.connections, 1)
    })
  })
}
