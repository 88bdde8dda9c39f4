// What the adapter adds to the storage's queue and store: Fedify's types of two versions, scopes, and keys that Fedify makes.

import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { after, test } from 'node:test'
import type { KvStore, MessageQueue, MessageQueueEnqueueOptions } from '@fedify/fedify'
import { HoldfastKvStore, HoldfastMessageQueue } from '@holdfast/fedify'
import { Temporal } from '@js-temporal/polyfill'
import { MemoryStorage } from 'holdfast'
import { testKvStore } from '@holdfast/conformance'
import type { TaskEvent } from 'holdfast/tasks'
import { until } from '../../holdfast/test/queue/driver.ts'
import { stopServers, processDrivers } from '../../holdfast/test/processes/drivers.ts'

after(stopServers)

/** The members that 2.4 adds, declared here. */
interface MessageQueue24 extends Omit<MessageQueue, 'enqueue' | 'enqueueMany'> {
  readonly nativeDeduplication?: boolean
  readonly atomicEnqueueMany?: boolean
  enqueue(message: unknown, options?: Options24): Promise<void>
  enqueueMany?(messages: readonly unknown[], options?: Options24): Promise<void>
}
type Options24 = MessageQueueEnqueueOptions & { readonly deduplicationKey?: string }

test('[E3] the types fit Fedify 2.3.6 and what is known of 2.4', async () => {
  const storage = new MemoryStorage()
  const queue: MessageQueue = new HoldfastMessageQueue(storage)
  const later: MessageQueue24 = new HoldfastMessageQueue(storage)
  const store: KvStore = new HoldfastKvStore(storage)
  assert.deepEqual([later.nativeRetrial, later.nativeDeduplication, later.atomicEnqueueMany], [true, true, true])
  assert.equal(typeof store.cas, 'function')
  assert.equal(queue.nativeRetrial, true)
  // @ts-expect-error -- a storage is required
  assert.throws(() => new HoldfastMessageQueue(), { code: 'INVALID_ARGUMENT' })
  // @ts-expect-error -- no such scope
  assert.throws(() => new HoldfastMessageQueue(storage, { deduplicationScope: 'x' }), { code: 'INVALID_ARGUMENT' })
})

async function opened(options?: ConstructorParameters<typeof HoldfastMessageQueue>[1]) {
  const queue = new HoldfastMessageQueue(new MemoryStorage(), options)
  const depth = async (): Promise<number> => (await queue.getDepth()).queued
  return { queue, depth }
}

const deduplicationKey = 'k'

test('methods return nothing, and unknown options of a later Fedify are ignored', async () => {
  const { queue, depth } = await opened()
  const later = { deduplicationKey, unheardOf: true }
  assert.equal(await queue.enqueue({ id: '1' }, later), undefined)
  assert.equal(await queue.enqueueMany([{ id: '2' }, { id: '3' }]), undefined)
  assert.equal(await queue.enqueueMany([]), undefined)
  assert.equal(await depth(), 3)
  await queue.close()
})

test('the key of a task message is scoped by task name and origin; in the global scope it is one for all', async () => {
  const messages = [
    { type: 'task', taskName: 'a', baseUrl: 'https://one.example' },
    { type: 'task', taskName: 'b', baseUrl: 'https://one.example' },
    { type: 'task', taskName: 'a', baseUrl: 'https://two.example' },
    { type: 'outbox' },
  ]
  for (const [deduplicationScope, expected] of [
    ['task', 4],
    ['global', 1],
  ] as const) {
    const { queue, depth } = await opened({ deduplicationScope })
    for (const message of [...messages, ...messages]) await queue.enqueue(message, { deduplicationKey })
    assert.equal(await depth(), expected, deduplicationScope)
    await queue.close()
  }
})

test('a skip is an event on the channel, with the id of the message that has the key', async () => {
  const { queue } = await opened({ name: 'mine' })
  const events: TaskEvent[] = []
  const keep = (event: unknown): void => void events.push(event as TaskEvent)
  subscribe('holdfast.tasks', keep)
  const message = { taskName: 'mail', baseUrl: 'https://one.example' }
  for (let time = 0; time < 3; time++) await queue.enqueue(message, { deduplicationKey })
  unsubscribe('holdfast.tasks', keep)
  assert.deepEqual(
    events.map(({ name, task, queue: from }) => [name, task, from]),
    [
      ['deduplicated', 'mail', 'mine'],
      ['deduplicated', 'mail', 'mine'],
    ],
  )
  assert.equal(new Set(events.map(({ id }) => id)).size, 1)
  await queue.close()
})

test('keys that a storage cannot hold are replaced by their hash, and stay distinct', async () => {
  const { queue, depth } = await opened()
  const keys = ['x'.repeat(600), `${'x'.repeat(600)}y`, 'a\0b', '\ud800', '\udc00', '']
  for (const key of [...keys, ...keys])
    await queue.enqueue({ id: key.slice(0, 3) }, { deduplicationKey: key, orderingKey: key })
  assert.equal(await depth(), keys.length)
  await queue.close()
})

test('messages stay plain JSON in the storage, also with undefined members, and come back as JSON has them', async () => {
  const storage = new MemoryStorage()
  const queue = new HoldfastMessageQueue(storage)
  await queue.enqueue({ id: '1', sharedInbox: undefined, at: new Date(0) })
  const { items } = await storage.list({ of: 'jobs', types: ['fedify.default'], limit: 1, parts: ['payload'] })
  assert.equal(Buffer.from(items[0]!.payload!).toString(), '{"id":"1","at":"1970-01-01T00:00:00.000Z"}')
  await queue.close()
})

test('without retry options a message runs 21 times; a retry policy replaces that', async () => {
  for (const [options, runs] of [
    [{ backoff: 'none' }, 21],
    [{ maxAttempts: 2, backoff: 'none' }, 2],
    [{ retryPolicy: ({ attempt }: { attempt: number }) => (attempt < 3 ? 0 : null) }, 3],
  ] as const) {
    const { queue } = await opened(options)
    const stop = new AbortController()
    let count = 0
    const listening = queue.listen(
      () => {
        count++
        throw new Error('always')
      },
      { signal: stop.signal },
    )
    await queue.enqueue({ id: '1' })
    await until(async () => {
      for await (const _ of queue.failed()) return true
      return false
    }, 'it failed')
    stop.abort()
    await listening
    assert.equal(count, runs)
    await queue.close()
  }
})

for (const driver of Object.values(processDrivers)) {
  test(`[E5] HoldfastKvStore on ${driver.name}: null, cas with members in another order, a nonce spent once`, async () => {
    const place = await driver.open()
    const store: KvStore & AsyncDisposable = new HoldfastKvStore(place.storage())
    await store.set(['null'], null)
    assert.equal(await store.get(['null']), null)
    await store.set(['object'], { a: 1, b: { c: 2, d: 3 } }, { ttl: Temporal.Duration.from({ hours: 1 }) as never })
    assert.equal(await store.cas!(['object'], { b: { d: 3, c: 2 }, a: 1 }, 'next'), true)
    await store.set(['nonce'], true)
    const spent = await Promise.all(Array.from({ length: 20 }, () => store.cas!(['nonce'], true, undefined)))
    assert.equal(spent.filter(Boolean).length, 1)
    const keys: string[] = []
    for await (const { key } of store.list()) keys.push(key.join('/'))
    assert.deepEqual(keys.toSorted(), ['null', 'object'])
    await store[Symbol.asyncDispose]()
    await place.close()
  })
}

await testKvStore({
  test,
  create: () => {
    const store = new HoldfastKvStore(new MemoryStorage())
    return { store: store as never, close: () => store.close() }
  },
})
