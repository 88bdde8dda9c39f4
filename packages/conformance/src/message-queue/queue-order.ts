// Ordering keys: one message at a time, in the order of the enqueues, across failures and delays; other messages do not wait.

import assert from 'node:assert/strict'
import { listOf, type QueueCase } from './queue-case.ts'

interface Numbered {
  readonly key: string
  readonly number: number
}

export const queueOrderCases: readonly QueueCase[] = [
  {
    name: 'messages of one key run one at a time and in order over two listeners, although every third run throws',
    needs: ['ordering', 'nativeRetrial'],
    proves: ['W8'],
    run: async ({ open, listen, until, pause }) => {
      const settings = { retryPolicy: () => 0, concurrency: 5 }
      const queues = [await open(settings), await open(settings)]
      const running = new Set<string>()
      const done: Numbered[] = []
      let runs = 0
      let overlaps = 0
      const handler = async (message: Numbered): Promise<void> => {
        if (running.has(message.key)) overlaps++
        running.add(message.key)
        const fails = ++runs % 3 === 0
        await pause(1)
        running.delete(message.key)
        if (fails) throw new Error('every third')
        done.push(message)
      }
      const keys = ['a', 'b', 'c', 'd', 'e']
      for (let number = 0; number < 20; number++) {
        for (const key of keys) await queues[0]!.enqueue({ key, number }, { orderingKey: key })
      }
      for (const queue of queues) listen(queue, handler)
      await until(() => done.length >= 100, 'all are done')
      assert.equal(overlaps, 0)
      for (const key of keys) {
        assert.deepEqual(
          done.filter((message) => message.key === key).map(({ number }) => number),
          Array.from({ length: 20 }, (_, number) => number),
        )
      }
    },
  },
  {
    name: 'calls that are not awaited are accepted in order, single and batch',
    needs: ['ordering', 'enqueueMany'],
    proves: ['W8'],
    run: async ({ open, listen, until }) => {
      const queue = await open()
      const orderingKey = 'k'
      const calls: Promise<unknown>[] = []
      for (let number = 0; number < 40; number += 4) {
        calls.push(queue.enqueue(number, { orderingKey }))
        calls.push(queue.enqueueMany!([number + 1, number + 2], { orderingKey }))
        calls.push(queue.enqueue(number + 3, { orderingKey }))
      }
      await Promise.all(calls)
      const { began } = listen(queue)
      await until(() => began.length >= 40, 'all arrive')
      assert.deepEqual(
        began,
        Array.from({ length: 40 }, (_, number) => number),
      )
    },
  },
  {
    name: 'the head holds its key during its delay; other keys and plain messages run',
    needs: ['ordering'],
    proves: ['W8'],
    run: async ({ open, listen, until }) => {
      const queue = await open()
      const { began } = listen(queue)
      await queue.enqueue('head', { orderingKey: 'k', delay: 400 })
      await queue.enqueue('second', { orderingKey: 'k' })
      await queue.enqueue('other', { orderingKey: 'l' })
      await queue.enqueue('plain')
      await until(() => began.length === 4, 'all arrive')
      assert.deepEqual(began.slice(0, 2).toSorted(), ['other', 'plain'])
      assert.deepEqual(began.slice(2), ['head', 'second'])
    },
  },
  {
    name: 'a head that fails for good frees its key and can be revived',
    needs: ['ordering', 'extended'],
    proves: ['W10'],
    run: async ({ openExtended, listen, until }) => {
      const queue = await openExtended({ retryPolicy: () => null })
      let repaired = false
      const { began } = listen(queue, (message) => {
        if (message === 'head' && !repaired) throw new Error('no')
      })
      await queue.enqueue('head', { orderingKey: 'k' })
      await queue.enqueue('next', { orderingKey: 'k' })
      await until(() => began.length === 2, 'the next runs')
      assert.deepEqual(began, ['head', 'next'])
      await until(async () => (await listOf(queue.failed())).length === 1, 'the head is kept')
      repaired = true
      const [head] = await listOf(queue.failed())
      await queue.revive([head!.id])
      await until(() => began.length === 3, 'the head runs again')
      assert.equal(began[2], 'head')
    },
  },
  {
    name: 'a message that its handler replaces keeps its place, costs no attempt, and stays replaced if the handler throws',
    needs: ['ordering', 'extended'],
    proves: ['tasks §5'],
    run: async ({ openExtended, listen, until }) => {
      type Message = { id: string; step: number }
      const queue = await openExtended({ replaces: (message) => (message as Message).id, retryPolicy: () => null })
      const seen: string[] = []
      const attempts: unknown[] = []
      listen(queue, async ({ id, step }: Message, delivery) => {
        seen.push(`${id}${step}`)
        attempts.push(delivery?.attempt)
        if (id !== 'a' || step > 2) return
        await queue.enqueue({ id, step: step + 1 }, { orderingKey: 'k', delay: 20 * step })
        if (step === 1) throw new Error('after it was replaced')
      })
      await queue.enqueue({ id: 'a', step: 0 }, { orderingKey: 'k' })
      await queue.enqueue({ id: 'b', step: 0 }, { orderingKey: 'k' })
      await until(() => seen.length >= 5, 'all run')
      assert.deepEqual(seen, ['a0', 'a1', 'a2', 'a3', 'b0'])
      assert.deepEqual(attempts, [1, 1, 1, 1, 1])
      assert.deepEqual(await listOf(queue.failed()), [])
    },
  },
  {
    name: 'an enqueue in a handler under another identity, ordering key or queue adds a message',
    needs: ['ordering', 'extended'],
    proves: ['tasks §5'],
    run: async ({ openExtended, listen, until }) => {
      type Message = { id: string; first?: true }
      const settings = { replaces: (message: unknown) => (message as Message).id }
      const queue = await openExtended(settings)
      const elsewhere = await openExtended({ ...settings, name: 'elsewhere' })
      const heard = [
        listen(queue, async ({ first }: Message) => {
          if (!first) return
          await queue.enqueue({ id: 'other' }, { orderingKey: 'k' })
          await queue.enqueue({ id: 'a' }, { orderingKey: 'l' })
          await queue.enqueue({ id: 'a' })
          await elsewhere.enqueue({ id: 'a' }, { orderingKey: 'k' })
        }),
        listen(elsewhere),
      ]
      await queue.enqueue({ id: 'a', first: true }, { orderingKey: 'k' })
      await until(() => heard[0]!.began.length === 4 && heard[1]!.began.length === 1, 'all run')
    },
  },
]
