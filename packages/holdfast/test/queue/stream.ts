// queue.events(): what happens to the jobs of a name, from the call on, in order per job, once.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, test } from 'node:test'
import type { QueueEvent } from 'holdfast'
import { bench, gate, sleep, type TestDriver, until } from './driver.ts'
import { faulty } from './faulty-storage.ts'
import { of, read, rest } from './stream-reading.ts'
import { defaultType } from 'holdfast/storage'

export function streamTests(driver: TestDriver): void {
  describe(`${driver.name}: events()`, () => {
    test('[Q6.11] a life: its events in order, with attempts, times and the worker, and nothing of the payload', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const producer = newQueue()
      const stream = producer.events()
      await stream.ready
      const worker = newQueue({ workerId: 'w' })
      worker.execute((job) => {
        if (job.attempts < 3) throw new Error('not yet')
        return 'a result'
      })
      await worker.start()
      await producer.enqueueAndWait('a', 'a payload')
      const events = await read(stream, 7)
      assert.deepEqual(
        events.map((entry) => ('id' in entry ? [entry.event, entry.id, entry.attempt, entry.workerId] : entry)),
        [
          ['queued', 'a', 0, undefined],
          ['processing', 'a', 1, 'w'],
          ['failing', 'a', 1, 'w'],
          ['processing', 'a', 2, 'w'],
          ['failing', 'a', 2, 'w'],
          ['processing', 'a', 3, 'w'],
          ['completed', 'a', 3, 'w'],
        ],
      )
      const known = ['at', 'attempt', 'event', 'id', 'workerId']
      for (const entry of events) assert.ok(Object.keys(entry).every((key) => known.includes(key)))
      assert.equal('workerId' in events[0]!, false)
      const [record] = await storage.get([{ type: defaultType, id: 'a' }])
      assert.deepEqual([events[0]!.at, events[6]!.at], [record!.createdAt, record!.finishedAt])
      assert.deepEqual(
        events.map(({ at }) => at),
        events.map(({ at }) => at).toSorted((a, b) => a - b),
      )
    })

    test('[Q6.11] scheduled, cancelled, requeued; a last stall is stalled, then failed', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const stream = newQueue().events()
      await stream.ready
      const queue = newQueue({ maxRetries: 1, visibilityTimeout: 10_000 })
      await queue.enqueue('later', 1, { delayMs: 60_000 })
      await queue.cancel('later')
      assert.deepEqual(of('later', await read(stream, 2)), ['scheduled 0', 'cancelled 0'])

      const began = gate<void>()
      queue.execute(() => {
        began.resolve()
        return new Promise(() => {})
      })
      await queue.start()
      await queue.enqueue('endless', 1)
      await began.promise
      await queue.stop({ timeout: 0 })
      assert.deepEqual(of('endless', await read(stream, 3)), ['queued 0', 'processing 1', 'requeued 0'])

      const worker = newQueue({ visibilityTimeout: 80 })
      worker.execute(() => new Promise(() => {}))
      await worker.start()
      assert.deepEqual(of('endless', await read(stream, 3)), ['processing 1', 'stalled 1', 'failed 1'])
    })

    test('[Q6.11] a lost lease that is taken back: stalled, and processing again', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue({ workerId: 'w' })
      const stream = queue.events()
      await stream.ready
      await queue.enqueue('a', 1)
      await storage.claim({ worker: 'dead', label: 'd', slots: 1, types: [{ type: defaultType, leaseMs: 50 }] })
      queue.execute(() => {})
      await queue.start()
      const events = await read(stream, 5)
      const lives = ['queued 0', 'processing 1', 'stalled 1', 'processing 2', 'completed 2']
      assert.deepEqual(of('a', events), lives)
      assert.deepEqual(
        events.map((entry) => 'id' in entry && entry.workerId),
        [undefined, 'd', 'd', 'w', 'w'],
      )
    })

    test('[Q6.11] it listens from the call, not from the first next()', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      await queue.enqueue('before', 1, { delayMs: 60_000 })
      const stream = queue.events()
      await stream.ready
      await queue.enqueue('after', 1, { delayMs: 60_000 })
      await queue.cancel('before')
      assert.deepEqual(
        (await read(stream, 2)).map((entry) => 'id' in entry && `${entry.event} ${entry.id}`),
        ['scheduled after', 'cancelled before'],
      )
    })

    test('[Q6.11] [trap 25] of all queues of its name, and of no other; each stream has everything, once', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [one, two, other] = [newQueue({ name: 'n' }), newQueue({ name: 'n' }), newQueue({ name: 'n:m' })]
      const streams = [one.events(), one.events(), two.events(), other.events()]
      await Promise.all(streams.map(({ ready }) => ready))
      const ids = Array.from({ length: 50 }, (_, index) => `job ${index}`)
      await other.enqueue('of another name', 1, { delayMs: 60_000 })
      await Promise.all(ids.map((id, index) => (index % 2 ? one : two).enqueue(id, 1, { delayMs: 60_000 })))
      await Promise.all(ids.map((id) => one.cancel(id)))
      for (const stream of streams.slice(0, 3)) {
        const events = await read(stream, 100)
        for (const id of ids) assert.deepEqual(of(id, events), ['scheduled 0', 'cancelled 0'])
      }
      assert.deepEqual(of('of another name', await read(streams[3]!, 1)), ['scheduled 0'])
      await Promise.all([one.stop(), two.stop(), other.stop()])
      for (const stream of streams) assert.deepEqual(await rest(stream), [])
    })

    test('[Q6.11] who waits for the next is told at once', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      const stream = queue.events()
      const iterator = stream[Symbol.asyncIterator]()
      const waiting = [iterator.next(), iterator.next()]
      await stream.ready
      await queue.enqueue('a', 1, { delayMs: 60_000 })
      await queue.cancel('a')
      const entries = (await Promise.all(waiting)).map(({ value }) => (value as QueueEvent).event)
      assert.deepEqual(entries, ['scheduled', 'cancelled'])
    })

    test('[Q6.11] ends by break: it listens no more, and is over for good', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage })
      const stream = queue.events()
      await stream.ready
      for (const id of ['a', 'b', 'c']) await queue.enqueue(id, 1)
      const seen: QueueEvent[] = []
      for await (const event of stream) {
        seen.push(event)
        break
      }
      assert.equal(seen.length, 1)
      assert.equal(line.count('unlisten'), 1)
      await queue.enqueue('d', 1)
      assert.deepEqual(await rest(stream), [])
      await queue.stop()
      assert.equal(line.count('unlisten'), 1)
    })

    test('[Q6.11] ends by its signal, also while a reader waits; and leaves nothing on the signal', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage })
      const [controller, other] = [new AbortController(), new AbortController()]
      const stream = queue.events({ signal: controller.signal })
      const broken = queue.events({ signal: other.signal })
      await Promise.all([stream.ready, broken.ready])
      await queue.enqueue('a', 1)
      await read(stream, 1)
      const waiting = rest(stream)
      await sleep(10)
      controller.abort()
      assert.deepEqual(await waiting, [])
      await queue.enqueue('b', 1)
      assert.deepEqual(await rest(stream), [])
      for await (const _ of broken) break
      assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
      assert.equal(getEventListeners(other.signal, 'abort').length, 0)
      assert.equal(line.count('unlisten'), 2)
    })

    test('[Q6.11] ends at once by a signal that was aborted before', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage })
      const stream = queue.events({ signal: AbortSignal.abort() })
      assert.deepEqual(await rest(stream), [])
      await stream.ready
      await until(() => line.count('listen') === line.count('unlisten'))
    })

    test('[Q6.11] ends by stop(), also while a reader waits; a stream opened later is a new one', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      await queue.start()
      const stream = queue.events()
      await stream.ready
      const waiting = rest(stream)
      await sleep(10)
      await queue.stop()
      assert.deepEqual(await waiting, [])
      await queue.start()
      const again = queue.events()
      await again.ready
      await queue.enqueue('a', 1)
      assert.deepEqual(of('a', await read(again, 1)), ['queued 0'])
    })
  })
}
