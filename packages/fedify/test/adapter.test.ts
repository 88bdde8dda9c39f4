// What the adapter adds to the storage's queue and store: Fedify's types of two versions, scopes, keys it did not choose.

import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { after, test } from 'node:test'
import type { KvStore, MessageQueue, MessageQueueEnqueueOptions } from '@fedify/fedify'
import { HoldfastKvStore, HoldfastMessageQueue } from '@holdfast/fedify'
import { Temporal } from '@js-temporal/polyfill'
import { MemoryStorage } from 'holdfast'
import { testKvStore } from '@holdfast/conformance'
import type { TaskEvent } from 'holdfast/tasks'
import { stopServers, processDrivers } from '../../holdfast/test/processes/drivers.ts'

after(stopServers)

/** The members that 2.4 is to have, described by themselves. */
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

test('methods answer with nothing, and options that a later Fedify may send are left alone', async () => {
  const { queue, depth } = await opened()
  const later = { deduplicationKey, unheardOf: true }
  assert.equal(await queue.enqueue({ id: '1' }, later), undefined)
  assert.equal(await queue.enqueueMany([{ id: '2' }, { id: '3' }]), undefined)
  assert.equal(await queue.enqueueMany([]), undefined)
  assert.equal(await depth(), 3)
  await queue.close()
})

test('a message of a task is scoped by its name and origin; globally all meet', async () => {
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

test('a skip is an event on the channel, with the survivor’s id', async () => {
  const { queue } = await opened({ name: 'mine' })
  const events: TaskEvent[] = []
  const heed = (event: unknown): void => void events.push(event as TaskEvent)
  subscribe('holdfast.tasks', heed)
  const message = { taskName: 'mail', baseUrl: 'https://one.example' }
  for (let time = 0; time < 3; time++) await queue.enqueue(message, { deduplicationKey })
  unsubscribe('holdfast.tasks', heed)
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

test('keys that a storage cannot hold are replaced by their hash, and stay apart', async () => {
  const { queue, depth } = await opened()
  const keys = ['x'.repeat(600), `${'x'.repeat(600)}y`, 'a\0b', '\ud800', '\udc00', '']
  for (const key of [...keys, ...keys])
    await queue.enqueue({ id: key.slice(0, 3) }, { deduplicationKey: key, orderingKey: key })
  assert.equal(await depth(), keys.length)
  await queue.close()
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
