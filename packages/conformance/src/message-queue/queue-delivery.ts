// Delivery: each message arrives unchanged once it is due, and a failing handler affects no other message.

import assert from 'node:assert/strict'
import { systemClock } from 'holdfast/storage'
import { listOf, type QueueCase } from './queue-case.ts'

const values: readonly unknown[] = [
  null,
  0,
  '',
  false,
  'é👍\u0000\ud800',
  [],
  {},
  { nested: [{ deep: [1, 2, 3] }] },
  { ['__proto__x']: 1, constructor: 'c' },
]

const ways: Readonly<Record<string, () => void | Promise<void>>> = {
  'a throw': () => {
    throw new Error('no')
  },
  'a rejection': () => Promise.reject(new Error('no')),
  'a throw of undefined': () => {
    throw undefined
  },
  'a rejection with undefined': () => Promise.reject(undefined as unknown as Error),
}

export const queueDeliveryCases: readonly QueueCase[] = [
  {
    name: 'each message arrives once and unchanged',
    run: async ({ open, listen, until, pause }) => {
      const queue = await open()
      const { began } = listen(queue)
      for (const value of values) await queue.enqueue({ value })
      await until(() => began.length >= values.length, 'all arrive')
      await pause()
      const seen = began.map((message) => JSON.stringify(message)).toSorted()
      assert.deepEqual(seen, values.map((value) => JSON.stringify({ value })).toSorted())
    },
  },
  {
    name: 'a message sent before any listener existed arrives',
    run: async ({ open, listen, until }) => {
      const sender = await open()
      await sender.enqueue('before')
      const { began } = listen(await open())
      await until(() => began.length === 1, 'it arrives')
    },
  },
  {
    name: 'each message reaches one of two listeners',
    proves: ['W5'],
    run: async ({ open, listen, until, pause }) => {
      const [one, other] = [await open(), await open()]
      const heard = [listen(one), listen(other)]
      const all = (): unknown[] => heard.flatMap(({ began }) => began)
      await Promise.all(Array.from({ length: 60 }, (_, number) => (number % 2 ? one : other).enqueue(number)))
      await until(() => all().length >= 60, 'all arrive')
      await pause()
      assert.deepEqual(
        (all() as number[]).toSorted((a, b) => a - b),
        Array.from({ length: 60 }, (_, number) => number),
      )
    },
  },
  {
    name: 'a delayed message is never early and delays no other message',
    proves: ['W12'],
    run: async ({ open, listen, until }) => {
      const [queue, other] = [await open(), await open()]
      const sentAt = systemClock.monotonic()
      let arrivedAt = 0
      const { began } = listen(queue, (message) => {
        if (message === 'delayed') arrivedAt = systemClock.monotonic()
      })
      await other.enqueue('delayed', { delay: 700 })
      await other.enqueue('far', { delay: 30 * 86_400_000 })
      await other.enqueue('now')
      await until(() => arrivedAt > 0, 'it arrives')
      assert.ok(arrivedAt - sentAt >= 700, `after ${arrivedAt - sentAt} ms`)
      assert.deepEqual(began, ['now', 'delayed'])
    },
  },
  {
    name: 'a delay may be an ISO 8601 text or an object of duration fields',
    run: async ({ open, listen, until }) => {
      const queue = await open()
      const { began } = listen(queue)
      await queue.enqueue('text', { delay: 'PT0.05S' })
      await queue.enqueue('fields', { delay: { milliseconds: 50 } })
      await queue.enqueue('far', { delay: 'P30D' })
      await until(() => began.length === 2, 'two arrive')
    },
  },
  ...Object.entries(ways).map(([name, fail]): QueueCase => ({
    name: `${name} in a handler: the message runs again, later messages run, and listen stays pending`,
    needs: ['nativeRetrial'],
    proves: ['W14'],
    run: async ({ open, listen, until, pause, soon }) => {
      const queue = await open({ retryPolicy: soon })
      let failed = 0
      const listening = listen(queue, (message) => {
        if (message === 'bad' && failed++ === 0) return fail()
        return undefined
      })
      await queue.enqueue('bad')
      await queue.enqueue('good')
      const count = (message: string): number => listening.began.filter((one) => one === message).length
      await until(() => count('bad') === 2 && count('good') === 1, 'both run')
      const state = await Promise.race([listening.ended.then(() => 'ended'), pause().then(() => 'pending')])
      assert.equal(state, 'pending')
      assert.equal(count('bad'), 2)
    },
  })),
  {
    name: 'a message that always fails runs as often as the retry policy says and is then kept as failed',
    needs: ['extended'],
    proves: ['W15', 'W10'],
    run: async ({ openExtended, listen, until, pause, soon }) => {
      const queue = await openExtended({ retryPolicy: soon })
      const attempts: unknown[] = []
      let repaired = false
      listen(queue, (_message, delivery) => {
        attempts.push(delivery?.attempt)
        if (!repaired) throw new Error('always')
      })
      const { ids } = await queue.enqueue('bad')
      const failed = async () => listOf(queue.failed())
      await until(async () => (await failed()).length === 1, 'it fails')
      await pause()
      assert.deepEqual(attempts, [1, 2, 3])
      const [record] = await failed()
      assert.deepEqual([record!.id, record!.message, record!.attempts], [ids[0], 'bad', 3])
      assert.equal(record!.error.message, 'always')
      repaired = true
      assert.deepEqual(await queue.revive(ids), [{ verdict: 'revived' }])
      await until(() => attempts.length === 4, 'it runs again')
      await until(async () => (await failed()).length === 0, 'it is no longer failed')
      assert.equal(attempts[3], 1)
    },
  },
]
