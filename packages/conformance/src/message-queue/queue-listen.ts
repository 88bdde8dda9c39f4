// listen: its concurrency, its end, and the depth of the queue.

import assert from 'node:assert/strict'
import { cyclic, listOf, type QueueCase } from './queue-case.ts'

const refused = (code: string, call: () => Promise<unknown>): Promise<void> => assert.rejects(call, { code })

export const queueListenCases: readonly QueueCase[] = [
  {
    name: 'exactly as many messages run at once as the concurrency allows',
    needs: ['extended'],
    proves: ['W17'],
    run: async ({ open, listen, until, pause }) => {
      const queue = await open({ concurrency: 7 })
      await queue.enqueueMany!(Array.from({ length: 100 }, (_, number) => number))
      let running = 0
      let most = 0
      const { began } = listen(queue, async () => {
        most = Math.max(most, ++running)
        await pause(3)
        running--
      })
      await until(() => began.length >= 100 && running === 0, 'all are done')
      assert.equal(most, 7)
    },
  },
  {
    name: 'a handler that hangs takes one slot',
    needs: ['extended'],
    proves: ['W17'],
    run: async ({ open, listen, until }) => {
      const queue = await open({ concurrency: 2 })
      const hangs = Promise.withResolvers<void>()
      const { began } = listen(queue, (message) => (message === 'hangs' ? hangs.promise : undefined))
      await queue.enqueue('hangs')
      await until(() => began.length === 1, 'it hangs')
      for (let number = 0; number < 20; number++) await queue.enqueue(number)
      await until(() => began.length === 21, 'the others run')
      hangs.resolve()
    },
  },
  {
    name: 'listen with an aborted signal ends at once',
    proves: ['W16'],
    run: async ({ open }) => {
      const queue = await open()
      const controller = new AbortController()
      controller.abort()
      await queue.listen(() => assert.fail('no message may be handled'), { signal: controller.signal })
    },
  },
  {
    name: 'an abort ends listen after the running handler, and listen may be called again',
    proves: ['W16'],
    run: async ({ open, listen, until, pause }) => {
      const queue = await open()
      const gate = Promise.withResolvers<void>()
      let ended = false
      const first = listen(queue, () => gate.promise)
      await queue.enqueue('busy')
      await until(() => first.began.length === 1, 'it runs')
      const stopped = first.stop().then(() => (ended = true))
      await pause(50)
      assert.equal(ended, false)
      gate.resolve()
      await stopped
      await queue.enqueue('later')
      const second = listen(queue)
      await until(() => second.began.length === 1, 'the later one runs')
      assert.deepEqual([first.began, second.began], [['busy'], ['later']])
    },
  },
  {
    name: 'a message that arrives after the abort is left to another listener',
    proves: ['W16'],
    run: async ({ open, listen, until, pause }) => {
      const queue = await open()
      const first = listen(queue)
      await first.stop()
      await queue.enqueue('later')
      await pause()
      assert.deepEqual(first.began, [])
      const second = listen(await open())
      await until(() => second.began.length === 1, 'another has it')
    },
  },
  {
    name: 'the depth counts ready and delayed messages, not running or failed ones',
    needs: ['extended', 'getDepth'],
    proves: ['W21'],
    run: async ({ openExtended, listen, until }) => {
      const queue = await openExtended({ concurrency: 1, retryPolicy: () => null })
      assert.deepEqual(await queue.getDepth(), { queued: 0, ready: 0, delayed: 0 })
      const gate = Promise.withResolvers<void>()
      const { began } = listen(queue, (message) => {
        if (message === 'fails') throw new Error('no')
        return message === 'runs' ? gate.promise : undefined
      })
      await queue.enqueue('fails')
      await until(async () => (await listOf(queue.failed())).length === 1, 'one fails')
      await queue.enqueue('runs')
      await until(() => began.length === 2, 'one runs')
      for (let number = 0; number < 3; number++) await queue.enqueue('ready')
      for (let number = 0; number < 2; number++) await queue.enqueue('delayed', { delay: 'PT1H' })
      assert.deepEqual(await queue.getDepth(), { queued: 5, ready: 3, delayed: 2 })
      gate.resolve()
    },
  },
  {
    name: 'an invalid message or option is refused and leaves nothing behind',
    needs: ['extended'],
    proves: ['tasks §9'],
    run: async ({ openExtended }) => {
      const queue = await openExtended()
      await refused('INVALID_MESSAGE', () => queue.enqueue(undefined))
      await refused('INVALID_MESSAGE', () => queue.enqueueMany([1, undefined]))
      await refused('SERIALIZATION_ERROR', () => queue.enqueue(cyclic()))
      await refused('INVALID_DELAY', () => queue.enqueue(1, { delay: -1 }))
      await refused('INVALID_ORDERING_KEY', () => queue.enqueue(1, { orderingKey: '' }))
      await refused('INVALID_DEDUPLICATION_KEY', () => queue.enqueue(1, { deduplicationKey: 'x'.repeat(513) }))
      await refused('INVALID_ARGUMENT', () => queue.enqueue(1, { deduplicationTtl: 0 }))
      const many = Array.from({ length: 10_001 }, () => 1)
      await refused('BATCH_TOO_LARGE', () => queue.enqueueMany(many, { deduplicationKey: 'k' }))
      await refused('INVALID_ARGUMENT', () => queue.enqueueMany(many, { resume: 'unknown' }))
      await refused('INVALID_ARGUMENT', () => queue.enqueueMany([1], { resume: 'batch:2' }))
      assert.deepEqual(await queue.getDepth(), { queued: 0, ready: 0, delayed: 0 })
    },
  },
]
