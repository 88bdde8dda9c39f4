// Cases of the table server_registry.

import assert from 'node:assert/strict'
import type { PeerRow, Store } from '../../src/store/store.ts'
import type { Case } from './subject.ts'

const now = 1_767_225_600_000
const keys = (url: string, of = 'a') => ({ url, publicKey: `sig-${of}`, encryptionPublicKey: `enc-${of}` })
const peer = async (store: Store, url: string): Promise<PeerRow> => (await store.peers.get(url))!
const urls = (rows: readonly PeerRow[]): string[] => rows.map(({ url }) => url)

export const peerCases: Case[] = [
  {
    name: 'a pin is inserted, then touched; other keys change nothing',
    async run({ store }) {
      assert.equal(await store.peers.get('https://b.example'), undefined)
      assert.equal(await store.peers.pin(keys('https://b.example'), now), 'inserted')
      const inserted = await peer(store, 'https://b.example')
      assert.deepEqual(inserted, {
        ...keys('https://b.example'),
        lastSeen: now,
        createdAt: now,
        updatedAt: now,
        isHealthy: true,
        unhealthyReason: undefined,
        healthCheckAttempts: 0,
        site: 'b.example',
        addressRange: undefined,
        usedAt: undefined,
        reachedAt: undefined,
      })
      assert.equal(await store.peers.pin(keys('https://b.example'), now + 1), 'touched')
      const touched = await peer(store, 'https://b.example')
      assert.deepEqual(touched, { ...inserted, lastSeen: now + 1, updatedAt: now + 1 })
      for (const other of [
        { publicKey: 'x' },
        { encryptionPublicKey: 'x' },
        { publicKey: 'x', encryptionPublicKey: 'x' },
      ]) {
        assert.equal(await store.peers.pin({ ...keys('https://b.example'), ...other }, now + 2), 'pinned_otherwise')
      }
      assert.deepEqual(await peer(store, 'https://b.example'), touched)
    },
  },
  {
    name: 'of two concurrent pins with different keys one succeeds, and the other is refused',
    async run({ store }) {
      const verdicts = await Promise.all(['a', 'b'].map((of) => store.peers.pin(keys('https://b.example', of), now)))
      assert.deepEqual(verdicts.toSorted(), ['inserted', 'pinned_otherwise'])
    },
  },
  {
    name: 'two origins may have the same keys, so keys cannot be squatted',
    async run({ store }) {
      assert.equal(await store.peers.pin(keys('https://x.example'), now), 'inserted')
      assert.equal(await store.peers.pin(keys('https://y.example'), now), 'inserted')
    },
  },
  {
    name: 'attempts start at 0 when a healthy peer, or one with exhausted checks, becomes unhealthy',
    async run({ store }) {
      const url = 'https://b.example'
      assert.equal(await store.peers.unhealthy(url, 'TIMEOUT', 5, now), undefined)
      assert.equal(await store.peers.checked(url, now), undefined)
      await store.peers.pin(keys(url), now)
      assert.equal(await store.peers.unhealthy(url, 'TIMEOUT', 5, now + 1), 0)
      for (const n of [1, 2, 3, 4]) assert.equal(await store.peers.checked(url, now + 1 + n), n)
      assert.equal(await store.peers.unhealthy(url, 'CONN_RESET', 5, now + 7), 4)
      assert.equal(await store.peers.checked(url, now + 8), 5)
      const row = await peer(store, url)
      assert.deepEqual([row.isHealthy, row.unhealthyReason, row.lastSeen], [false, 'CONN_RESET', now])
      assert.equal(await store.peers.unhealthy(url, 'TIMEOUT', 5, now + 9), 0)
      await store.peers.checked(url, now + 10)
      await store.peers.healthy(url, now + 11)
      const healed = await peer(store, url)
      assert.deepEqual(
        [healed.isHealthy, healed.unhealthyReason, healed.healthCheckAttempts, healed.lastSeen],
        [true, undefined, 0, now + 11],
      )
      assert.equal(await store.peers.unhealthy(url, 'UNKNOWN', 5, now + 12), 0)
    },
  },
  {
    name: 'concurrent checks get different numbers',
    async run({ store }) {
      await store.peers.pin(keys('https://b.example'), now)
      const numbers = await Promise.all(Array.from({ length: 5 }, () => store.peers.checked('https://b.example', now)))
      assert.deepEqual(numbers.toSorted(), [1, 2, 3, 4, 5])
    },
  },
  {
    name: 'healthy peers are listed by last_seen, unhealthy ones by reason and attempts',
    async run({ store }) {
      for (const [n, name] of ['a', 'b', 'c', 'd', 'e'].entries()) {
        await store.peers.pin(keys(`https://${name}.example`), now + n)
      }
      await store.peers.unhealthy('https://b.example', 'TIMEOUT', 5, now)
      await store.peers.unhealthy('https://d.example', 'DNS_BLOCKED', 5, now)
      await store.peers.unhealthy('https://e.example', 'UNKNOWN', 5, now)
      for (let n = 0; n < 5; n++) await store.peers.checked('https://e.example', now)
      assert.deepEqual(urls(await store.peers.listHealthy(10)), ['https://c.example', 'https://a.example'])
      assert.deepEqual(urls(await store.peers.listHealthy(1)), ['https://c.example'])
      const unhealthy = async (filter: object): Promise<string[]> =>
        urls(await store.peers.listUnhealthy({ reasons: ['TIMEOUT', 'UNKNOWN'], limit: 10, ...filter }))
      assert.deepEqual(await unhealthy({}), ['https://e.example', 'https://b.example'])
      assert.deepEqual(await unhealthy({ attemptsBelow: 5 }), ['https://b.example'])
      assert.deepEqual(await unhealthy({ limit: 1 }), ['https://e.example'])
      assert.deepEqual(await unhealthy({ reasons: [] }), [])
    },
  },
  {
    name: 'peers are listed page by page',
    async run({ store }) {
      const all = ['https://a-b.example', 'https://a.example', 'https://a.example:8443', 'https://b.example']
      for (const url of all) await store.peers.pin(keys(url), now)
      const seen: string[] = []
      for (let after: string | undefined; ; after = seen.at(-1)) {
        const page = urls(await store.peers.list({ limit: 3, ...(after === undefined ? {} : { after }) }))
        if (page.length === 0) break
        seen.push(...page)
      }
      assert.deepEqual(seen, all)
    },
  },
  {
    name: 'a pin keeps what is known of a peer: its address range, its use, and that it was reached',
    async run({ store }) {
      const url = 'https://b.example'
      const facts = async (): Promise<unknown[]> => {
        const { addressRange, usedAt, reachedAt } = await peer(store, url)
        return [addressRange, usedAt, reachedAt]
      }
      await store.peers.pin(keys(url), now, { addressRange: '192.0.2.0/24' })
      assert.deepEqual(await facts(), ['192.0.2.0/24', undefined, undefined])
      await store.peers.pin(keys(url), now + 1, { isReached: true })
      assert.deepEqual(await facts(), ['192.0.2.0/24', undefined, now + 1])
      await store.peers.used(url, now + 2)
      await store.peers.pin(keys(url), now + 3, { addressRange: '198.51.100.0/24' })
      assert.deepEqual(await facts(), ['198.51.100.0/24', now + 2, now + 1])
      await store.peers.reached(url, now + 4)
      assert.deepEqual(await facts(), ['198.51.100.0/24', now + 2, now + 4])
      await store.peers.pin(keys('https://never.example'), now + 5)
      assert.deepEqual(urls(await store.peers.listReached(10)), [url])
      await store.peers.unhealthy(url, 'TIMEOUT', 5, now + 6)
      assert.deepEqual(await store.peers.listReached(10), [])
    },
  },
  {
    name: 'unused peers are bounded by site, by range and in all; the oldest go first, and used ones stay',
    async run({ store }) {
      const pinned = async (name: string, at: number, addressRange: string): Promise<void> => {
        const url = `https://${name}`
        await store.peers.pin(keys(url), now + at, { addressRange })
        const { site } = await peer(store, url)
        await store.peers.evictUnused({ url, site, addressRange }, { perSite: 2, perRange: 3, max: 5 })
      }
      const left = async (): Promise<string[]> =>
        urls(await store.peers.list({ limit: 100 })).map((url) => url.slice('https://'.length))
      await pinned('used.a.example', 0, 'r1')
      await store.peers.used('https://used.a.example', now)
      await pinned('1.a.example', 1, 'r1')
      await pinned('2.a.example', 2, 'r1')
      assert.deepEqual(await left(), ['1.a.example', '2.a.example', 'used.a.example'])
      await pinned('3.a.example', 3, 'r2')
      assert.deepEqual(await left(), ['2.a.example', '3.a.example', 'used.a.example'])
      for (const [at, name] of ['b.example', 'c.example', 'd.example'].entries()) await pinned(name, 4 + at, 'r1')
      assert.deepEqual(await left(), ['3.a.example', 'b.example', 'c.example', 'd.example', 'used.a.example'])
      await pinned('e.example', 7, 'r3')
      await pinned('f.example', 8, 'r3')
      assert.deepEqual(await left(), [
        'b.example',
        'c.example',
        'd.example',
        'e.example',
        'f.example',
        'used.a.example',
      ])
      assert.equal(await store.peers.expireUnused(now + 6, 1), 1)
      assert.equal(await store.peers.expireUnused(now + 6, 10), 1)
      assert.deepEqual(await left(), ['d.example', 'e.example', 'f.example', 'used.a.example'])
    },
  },
  {
    name: 'only repin() and rotate() replace keys; a removed origin can be pinned again',
    async run({ store }) {
      assert.equal(await store.peers.repin(keys('https://b.example'), now), false)
      await store.peers.pin(keys('https://b.example'), now)
      assert.equal(await store.peers.repin(keys('https://b.example', 'new'), now + 1), true)
      assert.equal((await peer(store, 'https://b.example')).publicKey, 'sig-new')
      const [old, renewed] = [keys('https://b.example'), keys('https://b.example', 'new')]
      assert.equal(await store.peers.rotate(old, renewed, now + 2), false)
      assert.equal(await store.peers.rotate(renewed, old, now + 2), true)
      assert.equal((await peer(store, 'https://b.example')).publicKey, 'sig-a')
      assert.equal(await store.peers.remove('https://b.example'), true)
      assert.equal(await store.peers.remove('https://b.example'), false)
      assert.equal(await store.peers.pin(keys('https://b.example'), now), 'inserted')
    },
  },
]
