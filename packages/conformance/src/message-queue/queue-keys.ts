// Deduplication keys and batches: decided in one move with the messages, also for concurrent enqueues.

import assert from 'node:assert/strict'
import { cyclic, listOf, type QueueCase } from './queue-case.ts'

export const queueKeyCases: readonly QueueCase[] = [
  {
    name: 'of two messages with one key the first runs; other keys and other queues are separate',
    needs: ['nativeDeduplication'],
    proves: ['W1', 'tasks S1'],
    run: async ({ open, listen, until, pause }) => {
      const [queue, other] = [await open(), await open({ name: 'other' })]
      const heard = [listen(queue), listen(other)]
      await queue.enqueue(1, { deduplicationKey: 'k' })
      await queue.enqueue(2, { deduplicationKey: 'k' })
      await queue.enqueue(3, { deduplicationKey: 'K' })
      await other.enqueue(4, { deduplicationKey: 'k' })
      await until(() => heard[0]!.began.length >= 2 && heard[1]!.began.length >= 1, 'they run')
      await queue.enqueue(5, { deduplicationKey: 'k' })
      await pause()
      assert.deepEqual(heard[0]!.began.toSorted(), [1, 3])
      assert.deepEqual(heard[1]!.began, [4])
    },
  },
  {
    name: 'of fifty concurrent enqueues with one key, by two instances, one is stored',
    needs: ['nativeDeduplication'],
    proves: ['tasks S2', 'W2'],
    run: async ({ open, listen, until, pause }) => {
      const queues = [await open(), await open()]
      await Promise.all(
        Array.from({ length: 50 }, (_, number) => queues[number % 2]!.enqueue(number, { deduplicationKey: 'k' })),
      )
      const { began } = listen(queues[0]!)
      await until(() => began.length >= 1, 'it runs')
      await pause()
      assert.equal(began.length, 1)
    },
  },
  {
    name: 'keys of different scopes are separate, and a skip names the first message',
    needs: ['extended'],
    proves: ['W1', 'W2'],
    run: async ({ openExtended }) => {
      const queue = await openExtended()
      const first = await queue.enqueue(1, { deduplicationKey: 'k', deduplicationScope: 'a', id: 'first' })
      assert.deepEqual(first, { status: 'enqueued', ids: ['first'] })
      const skipped = await queue.enqueue(2, { deduplicationKey: 'k', deduplicationScope: 'a' })
      assert.deepEqual(skipped, { status: 'duplicate', deduplicated: true, ids: ['first'], state: 'queued' })
      for (const scope of ['b', 'a/', '', 'a%']) {
        const { status } = await queue.enqueue(3, { deduplicationKey: 'k', deduplicationScope: scope })
        assert.equal(status, 'enqueued', scope)
      }
    },
  },
  {
    name: 'a keyed message that fails runs again: a retry is not a duplicate',
    needs: ['nativeDeduplication', 'nativeRetrial'],
    proves: ['W4'],
    run: async ({ open, listen, until, pause, soon }) => {
      const queue = await open({ retryPolicy: soon })
      let runs = 0
      listen(queue, () => {
        if (++runs < 3) throw new Error('not yet')
      })
      await queue.enqueue('keyed', { deduplicationKey: 'k' })
      await until(() => runs === 3, 'it runs three times')
      await queue.enqueue('keyed', { deduplicationKey: 'k' })
      await pause()
      assert.equal(runs, 3)
    },
  },
  {
    name: 'a single message that fails for good frees its key; a batch keeps its key',
    needs: ['extended'],
    proves: ['F25'],
    run: async ({ openExtended, listen, until }) => {
      const queue = await openExtended({ retryPolicy: () => null })
      listen(queue, () => {
        throw new Error('no')
      })
      await queue.enqueue(1, { deduplicationKey: 'single' })
      await queue.enqueueMany([1, 2], { deduplicationKey: 'batch' })
      await until(async () => (await listOf(queue.failed())).length === 3, 'all fail')
      assert.equal((await queue.enqueue(2, { deduplicationKey: 'single' })).status, 'enqueued')
      assert.equal((await queue.enqueue(2, { deduplicationKey: 'batch' })).status, 'duplicate')
    },
  },
  {
    name: 'a batch arrives completely, and in order under an ordering key',
    needs: ['enqueueMany', 'ordering'],
    proves: ['W11'],
    run: async ({ open, listen, until }) => {
      const queue = await open()
      const { began } = listen(queue)
      const numbers = Array.from({ length: 100 }, (_, number) => number)
      await queue.enqueueMany!(numbers, { orderingKey: 'k' })
      await queue.enqueueMany!([])
      await until(() => began.length >= 100, 'all arrive')
      assert.deepEqual(began, numbers)
    },
  },
  {
    name: 'a batch with a message that cannot be encoded stores nothing and takes no key',
    needs: ['enqueueMany', 'nativeDeduplication'],
    proves: ['W11'],
    run: async ({ open, listen, until, pause }) => {
      const queue = await open()
      const { began } = listen(queue)
      const key = { deduplicationKey: 'k' }
      await assert.rejects(async () => queue.enqueueMany!([1, 2, cyclic(), 4], key))
      await pause()
      assert.deepEqual(began, [])
      await queue.enqueueMany!([5, 6], key)
      await until(() => began.length === 2, 'the key is free')
    },
  },
  {
    name: 'a batch under one key is stored or skipped as a whole, also beside single messages',
    needs: ['enqueueMany', 'nativeDeduplication'],
    proves: ['tasks S5', 'W11'],
    run: async ({ open, listen, until, pause }) => {
      const queue = await open()
      const { began } = listen(queue)
      await queue.enqueueMany!([1, 2, 3], { deduplicationKey: 'k' })
      await queue.enqueueMany!([4, 5, 6], { deduplicationKey: 'k' })
      await queue.enqueue(7, { deduplicationKey: 'k' })
      await queue.enqueue(8, { deduplicationKey: 'l' })
      await queue.enqueueMany!([9, 10], { deduplicationKey: 'l' })
      await until(() => began.length >= 4, 'they run')
      await pause()
      assert.deepEqual(
        (began as number[]).toSorted((a, b) => a - b),
        [1, 2, 3, 8],
      )
    },
  },
]
