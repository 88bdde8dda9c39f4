// queue.events() without a reader, or without a subscription.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HoldfastError, JobFailedError, type QueueEvent, StorageError } from 'holdfast'
import { type JobEvent } from 'holdfast/storage'
import { bench, next, sleep, type TestDriver, until } from './driver.ts'
import { failing, faulty } from './faulty-storage.ts'
import { of, read, rest, telling } from './stream-reading.ts'

const entry = (number: number): JobEvent => ({ event: 'queued', id: `job ${number}`, attempt: 0, at: 1_000 + number })
const idOf = (event: QueueEvent | undefined): string | undefined => (event && 'id' in event ? event.id : event?.event)

export function streamGapTests(driver: TestDriver): void {
  describe(`${driver.name}: events(), when it cannot keep up or cannot listen`, () => {
    for (const unread of [10_000, 10_001, 25_000]) {
      test(`[Q6.11] ${unread} unread: ${unread > 10_000 ? 'a gap, and what came last' : 'all of them'}`, async (t) => {
        const { queue: newQueue, storage } = await bench(t, driver)
        const { storage: told, publishEvent } = telling(storage)
        const queue = newQueue({ storage: told })
        const stream = queue.events()
        await stream.ready
        for (let start = 0; start < unread; start += 100) {
          publishEvent({
            events: Array.from({ length: Math.min(100, unread - start) }, (_, index) => entry(start + index)),
          })
        }
        await queue.stop()
        const events = await rest(stream)
        const gaps = events.filter(({ event }) => event === 'gap')
        if (unread === 10_000) assert.deepEqual([events.length, gaps.length, idOf(events[0])], [unread, 0, 'job 0'])
        else {
          assert.deepEqual([idOf(events[0]), gaps.length], ['gap', 1])
          assert.ok(events.length <= 10_001 && Number.isInteger(events[0]!.at))
          // What follows the gap is whole.
          const first = unread - (events.length - 1)
          assert.deepEqual(
            events.slice(1).map(idOf),
            Array.from({ length: events.length - 1 }, (_, index) => `job ${first + index}`),
          )
        }
        assert.equal(idOf(events.at(-1)), `job ${unread - 1}`)
      })
    }

    test('[Q6.11] 10 000 are counted from what is unread, not from the beginning', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const { storage: told, publishEvent } = telling(storage)
      const queue = newQueue({ storage: told })
      const stream = queue.events()
      await stream.ready
      for (let number = 0; number < 15_000; number += 5_000) {
        publishEvent({ events: Array.from({ length: 5_000 }, (_, index) => entry(number + index)) })
        const events = await read(stream, 5_000)
        assert.deepEqual([idOf(events[0]), idOf(events.at(-1))], [`job ${number}`, `job ${number + 4_999}`])
      }
    })

    test('[Q6.11] a gap of the storage is a gap of the stream', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const { storage: told, publishEvent } = telling(storage)
      const stream = newQueue({ storage: told }).events()
      await stream.ready
      publishEvent({ events: [entry(1)] })
      publishEvent({ gap: true })
      publishEvent({ events: [entry(2)] })
      const events = await read(stream, 3)
      assert.deepEqual(events.map(idOf), ['job 1', 'gap', 'job 2'])
      assert.deepEqual(Object.keys(events[1]!).toSorted(), ['at', 'event'])
    })

    test('[Q6.11] it connects on demand; if it cannot listen, ready rejects and the stream is over', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('connect', failing(1))
      line.on('listen', failing(1))
      const queue = newQueue({ storage: line.storage })
      for (const verb of ['connect', 'listen']) {
        const stream = queue.events()
        assert.deepEqual(await rest(stream), [])
        await assert.rejects(stream.ready, (error) => error instanceof StorageError && error.message.includes(verb))
        // Without anybody who awaits ready.
        assert.equal(line.count(verb), 1)
      }
      const stream = queue.events()
      await stream.ready
      assert.equal(line.connections, 1)
      await queue.stop()
      assert.equal(line.connections, 0)
    })

    test('[Q6.11] of a stopped queue whose storage is closed: ready rejects with QUEUE_STOPPED', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('listen', async (apply) => {
        if (line.connections === 0) throw new HoldfastError('STORAGE_CLOSED', 'the storage is closed')
        return apply()
      })
      const queue = newQueue({ storage: line.storage })
      await queue.start()
      await queue.events().ready
      await queue.stop()
      const stream = queue.events()
      await assert.rejects(stream.ready, { code: 'QUEUE_STOPPED' })
      assert.deepEqual(await rest(stream), [])
      assert.equal(line.connections, 0)
    })

    test('[Q6.11] ready fails and is not awaited: no unhandled rejection', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('listen', failing())
      const unhandled: unknown[] = []
      const listener = (reason: unknown): void => void unhandled.push(reason)
      process.on('unhandledRejection', listener)
      t.after(() => process.off('unhandledRejection', listener))
      const queue = newQueue({ storage: line.storage })
      queue.events()
      await until(() => line.count('listen') === 1)
      await sleep(10)
      assert.deepEqual(unhandled, [])
    })

    test('[Q6.11] a failed job is told of without its error', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ maxRetries: 1 })
      const stream = queue.events()
      await stream.ready
      queue.execute(() => Promise.reject(new Error('secret')))
      await queue.start()
      const failed = next(queue, 'failed')
      await assert.rejects(queue.enqueueAndWait('a', 'secret'), JobFailedError)
      await failed
      const events = await read(stream, 3)
      assert.deepEqual(of('a', events), ['queued 0', 'processing 1', 'failed 1'])
      assert.ok(!JSON.stringify(events).includes('secret'))
    })
  })
}
