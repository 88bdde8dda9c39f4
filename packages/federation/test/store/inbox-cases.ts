// Cases of the table inbox.

import assert from 'node:assert/strict'
import type { Store } from '../../src/store/store.ts'
import type { Case } from './subject.ts'

const now = 1_767_225_600_000
const origin = 'https://b.example'
const decided = { outcome: '{"id":"7"}', ack: '{}', sealedWith: 'k' }

const received = (store: Store, id: string, at: number, expiresAt?: number): Promise<boolean> =>
  store.transaction(async (tx) => {
    const isNew = await store.inbox.insert({ origin, id, receivedAt: at, expiresAt }, tx)
    if (isNew) await store.inbox.decide(origin, id, decided, tx)
    return isNew
  })

export const inboxCases: Case[] = [
  {
    name: 'a message is inserted once, by sender and id',
    async run({ store }) {
      assert.equal(await store.inbox.get(origin, 'm'), undefined)
      assert.equal(await received(store, 'm', now), true)
      assert.equal(await received(store, 'm', now), false)
      assert.deepEqual(await store.inbox.get(origin, 'm'), decided)
      assert.equal(await store.inbox.get('https://c.example', 'm'), undefined)
    },
  },
  {
    name: 'of concurrent transactions with one message one inserts it; after a rollback the next one does',
    async run({ store }) {
      const all = await Promise.all(Array.from({ length: 5 }, () => received(store, 'm', now)))
      assert.deepEqual(all.toSorted(), [false, false, false, false, true])
      const failing = store.transaction(async (tx) => {
        await store.inbox.insert({ origin, id: 'n', receivedAt: now, expiresAt: undefined }, tx)
        throw new Error('rolled back')
      })
      await assert.rejects(failing, /rolled back/)
      assert.equal(await received(store, 'n', now), true)
    },
  },
  {
    name: 'rows expire at their instant; those without one lose their reply and stay',
    async run({ store }) {
      await received(store, 'short', now, now + 10)
      await received(store, 'long', now, now + 20)
      await received(store, 'stays', now)
      await received(store, 'recent', now + 5)
      assert.equal(await store.inbox.expire(now + 10, 10), 0)
      assert.equal(await store.inbox.expire(now + 11, 10), 1)
      assert.equal(await store.inbox.expire(now + 99, 10), 1)
      assert.equal(await store.inbox.compact(now + 1, 10), 1)
      assert.equal(await store.inbox.compact(now + 1, 10), 0)
      const left = { outcome: decided.outcome, ack: undefined, sealedWith: undefined }
      assert.deepEqual(await store.inbox.get(origin, 'stays'), left)
      assert.deepEqual(await store.inbox.get(origin, 'recent'), decided)
      assert.equal(await store.inbox.get(origin, 'long'), undefined)
    },
  },
]
