// Tests of the suites: queues and stores that are broken on purpose, each in one way, fail the case written against it.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { kvStoreCases, messageQueueCases, runKvStoreCase, runQueueCase } from '@holdfast/conformance'
import { MemoryStorage } from 'holdfast'
import { type MessageQueue, type KvStore, StorageKvStore, StorageMessageQueue } from 'holdfast/tasks'
import { queueSubject } from './conformance.ts'
import { processDrivers } from '../processes/drivers.ts'

type Breaks = (queue: StorageMessageQueue) => Partial<MessageQueue>

let sent = 0

const brokenQueues: readonly (readonly [what: string, breaks: Breaks, caughtBy: string])[] = [
  [
    'loses every tenth message',
    (queue) => ({
      enqueue: (message, options) => (++sent % 10 === 0 ? Promise.resolve() : queue.enqueue(message, options)),
    }),
    'each message reaches one of two listeners',
  ],
  [
    'acknowledges before the handler ended',
    (queue) => ({
      listen: (handler, options) =>
        queue.listen((message, delivery) => {
          void Promise.resolve()
            .then(() => handler(message, delivery))
            .catch(() => {})
        }, options),
    }),
    'a throw in a handler: the message runs again, later messages run, and listen stays pending',
  ],
  [
    'delivers twice',
    (queue) => ({
      listen: (handler, options) =>
        queue.listen(async (message, delivery) => {
          await handler(message, delivery)
          await handler(message, delivery)
        }, options),
    }),
    'each message arrives once and unchanged',
  ],
  [
    'forgets the ordering key',
    (queue) => ({
      enqueue: (message, options) => queue.enqueue(message, { ...options, orderingKey: undefined }),
    }),
    'messages of one key run one at a time and in order over two listeners, although every third run throws',
  ],
  [
    'forgets the deduplication key',
    (queue) => ({
      enqueue: (message, options) => queue.enqueue(message, { ...options, deduplicationKey: undefined }),
    }),
    'of two messages with one key the first runs; other keys and other queues are separate',
  ],
  [
    'cuts delays short',
    (queue) => ({
      enqueue: (message, options) =>
        queue.enqueue(message, {
          ...options,
          ...(typeof options?.delay === 'number' && { delay: options.delay / 10 }),
        }),
    }),
    'a delayed message is never early and delays no other message',
  ],
  [
    'stores a batch one by one',
    (queue) => ({
      enqueueMany: async (messages, options) => {
        for (const message of messages) await queue.enqueue(message, options)
      },
    }),
    'a batch under one key is stored or skipped as a whole, also beside single messages',
  ],
]

// Concurrently: a case that waits for an event that never comes takes its full time.
suite('broken queues', { concurrency: 8 }, () => {
  for (const [what, breaks, caughtBy] of brokenQueues) {
    test(`[Q3] a queue that ${what} is caught`, async () => {
      const item = messageQueueCases.find(({ name }) => name === caughtBy)
      assert.ok(item, `there is no case '${caughtBy}'`)
      const subject = await queueSubject(processDrivers.memory)
      const open: typeof subject.open = async (settings) => {
        const queue = (await subject.open(settings)) as StorageMessageQueue
        const own = {
          nativeRetrial: true,
          nativeDeduplication: true as const,
          enqueue: queue.enqueue.bind(queue),
          enqueueMany: queue.enqueueMany.bind(queue),
          listen: queue.listen.bind(queue),
        }
        return { ...own, ...breaks(queue) }
      }
      await assert.rejects(runQueueCase(item, { ...subject, open }))
      await runQueueCase(item, await queueSubject(processDrivers.memory))
    })
  }
})

type BreaksStore = (store: StorageKvStore) => Partial<KvStore>

const brokenStores: readonly (readonly [what: string, breaks: BreaksStore, caughtBy: string])[] = [
  [
    'looks, then writes',
    (store) => ({
      setIfAbsent: async (key, value, options) => {
        if ((await store.get(key)) !== undefined) return false
        await store.set(key, value, options)
        return true
      },
    }),
    'of a hundred concurrent setIfAbsent calls on an expired key one succeeds, and its value stays',
  ],
  [
    'looks, then swaps',
    (store) => ({
      cas: async (key, expected, next, options) => {
        if ((await store.get(key)) !== expected) return false
        await store.set(key, next, options)
        return true
      },
    }),
    'of a hundred concurrent cas calls from one value one succeeds',
  ],
  [
    'rounds a TTL to seconds',
    (store) => ({
      set: (key, value, options) => store.set(key, value, options?.ttl === undefined ? {} : { ttl: 2_000 }),
    }),
    'an entry is present for its TTL and absent right after it, for every verb',
  ],
  [
    'joins the parts of a key',
    (store) => ({
      get: (key) => store.get([key.join(':')]),
      set: (key, value, options) => store.set([key.join(':')], value, options),
    }),
    'awkward keys are returned unchanged and are distinct',
  ],
]

for (const [what, breaks, caughtBy] of brokenStores) {
  test(`[Q3] a store that ${what} is caught`, async (t) => {
    const item = kvStoreCases.find(({ name }) => name === caughtBy)
    assert.ok(item, `there is no case '${caughtBy}'`)
    const [store, sound] = [new StorageKvStore(new MemoryStorage()), new StorageKvStore(new MemoryStorage())]
    t.after(() => Promise.all([store.close(), sound.close()]))
    const own: KvStore = {
      get: store.get.bind(store),
      set: store.set.bind(store),
      delete: store.delete.bind(store),
      setIfAbsent: store.setIfAbsent.bind(store),
      cas: store.cas.bind(store),
      list: store.list.bind(store),
    }
    await assert.rejects(runKvStoreCase(item, { store: { ...own, ...breaks(store) } }))
    await runKvStoreCase(item, { store: sound })
  })
}
