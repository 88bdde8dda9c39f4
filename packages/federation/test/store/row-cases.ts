// Cases of the methods of each table.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { FollowRow, PeerRow, Store } from '../../src/store/store.ts'
import type { Case } from './subject.ts'

const now = 1_767_225_600_000
const newDelivery = (id: string, serverUrl = 'https://b.example') => ({
  id,
  name: 'deliver-follow',
  targetUrl: `${serverUrl}/inbox`,
  serverUrl,
  payload: '{"method":"FEDERATE"}',
  createdAt: now,
})
const keys = (url: string, of = 'a') => ({ url, publicKey: `sig-${of}`, encryptionPublicKey: `enc-${of}` })
const newFollow = (id: string, given: Partial<FollowRow> = {}): FollowRow => ({
  id,
  followerId: 'alice',
  followingId: 'bob',
  followerServerUrl: 'https://b.example',
  followingServerUrl: undefined,
  accepted: false,
  acknowledged: false,
  createdAt: now,
  ...given,
})
const peer = async (store: Store, url: string): Promise<PeerRow> => (await store.peers.get(url))!
const urls = (rows: readonly PeerRow[]): string[] => rows.map(({ url }) => url)

const deliveryCases: Case[] = [
  {
    name: 'a delivery is stored unchanged, open and without attempts',
    async run({ store }) {
      assert.equal(await store.deliveries.get('d1'), undefined)
      await store.deliveries.insert(newDelivery('d1'))
      assert.deepEqual(await store.deliveries.get('d1'), {
        ...newDelivery('d1'),
        attempts: 0,
        lastAttemptedAt: undefined,
        nextAttemptAt: undefined,
        status: 'open',
        lastError: undefined,
        settledAt: undefined,
      })
    },
  },
  {
    name: 'a repeated insert of a delivery changes nothing',
    async run({ store }) {
      await store.deliveries.insert(newDelivery('d1'))
      await store.deliveries.attempted('d1', now + 1)
      await store.deliveries.insert({ ...newDelivery('d1'), payload: 'other' })
      const row = await store.deliveries.get('d1')
      assert.deepEqual([row!.payload, row!.attempts], ['{"method":"FEDERATE"}', 1])
    },
  },
  {
    name: 'concurrent attempts are all counted',
    async run({ store }) {
      await store.deliveries.insert(newDelivery('d1'))
      await Promise.all(Array.from({ length: 10 }, (_, n) => store.deliveries.attempted('d1', now + n)))
      assert.equal((await store.deliveries.get('d1'))!.attempts, 10)
    },
  },
  {
    name: 'a retried delivery has its instant and code, and a failed one stays failed',
    async run({ store }) {
      await store.deliveries.insert(newDelivery('d1'))
      await store.deliveries.retried('d1', now + 5_000.4, 'TRANSPORT')
      const retried = (await store.deliveries.get('d1'))!
      assert.deepEqual([retried.status, retried.nextAttemptAt, retried.lastError], ['open', now + 5_000, 'TRANSPORT'])
      await store.deliveries.failed('d1', 'ACK_MISSING', now + 9)
      await store.deliveries.retried('d1', now + 10_000, 'HTTP_STATUS')
      const failed = (await store.deliveries.get('d1'))!
      assert.deepEqual(
        [failed.status, failed.nextAttemptAt, failed.lastError, failed.settledAt],
        ['failed', undefined, 'ACK_MISSING', now + 9],
      )
    },
  },
  {
    name: 'methods on an absent delivery do nothing',
    async run({ store }) {
      await store.deliveries.attempted('none', now)
      await store.deliveries.retried('none', now, 'TRANSPORT')
      await store.deliveries.failed('none', 'TRANSPORT', now)
      await store.deliveries.remove('none')
      assert.deepEqual(await store.deliveries.list({ limit: 10 }), [])
    },
  },
  {
    name: 'a sweep removes failed rows that ended before, oldest first, up to its limit',
    async run({ store }) {
      for (const [id, endedAt] of [
        ['d1', 30],
        ['d2', 10],
        ['d3', 20],
        ['d4', 99],
      ] as const) {
        await store.deliveries.insert(newDelivery(id))
        await store.deliveries.failed(id, 'TRANSPORT', now + endedAt)
      }
      await store.deliveries.insert(newDelivery('open'))
      assert.equal(await store.deliveries.sweep(now + 99, 2), 2)
      assert.deepEqual(
        (await store.deliveries.list({ limit: 10 })).map(({ id }) => id),
        ['d1', 'd4', 'open'],
      )
      assert.equal(await store.deliveries.sweep(now + 99, 2), 1)
      assert.equal(await store.deliveries.sweep(now + 99, 2), 0)
    },
  },
  {
    name: 'deliveries are listed by server and status',
    async run({ store }) {
      for (const [id, server] of [
        ['d1', 'https://b.example'],
        ['d2', 'https://b.example'],
        ['d3', 'https://c.example'],
      ] as const) {
        await store.deliveries.insert(newDelivery(id, server))
      }
      await store.deliveries.failed('d2', 'TRANSPORT', now)
      const ids = async (filter: object): Promise<string[]> =>
        (await store.deliveries.list({ limit: 10, ...filter })).map(({ id }) => id)
      assert.deepEqual(await ids({}), ['d1', 'd2', 'd3'])
      assert.deepEqual(await ids({ limit: 1 }), ['d1'])
      assert.deepEqual(await ids({ serverUrl: 'https://b.example' }), ['d1', 'd2'])
      assert.deepEqual(await ids({ status: 'failed' }), ['d2'])
      assert.deepEqual(await ids({ serverUrl: 'https://c.example', status: 'failed' }), [])
      await store.deliveries.remove('d1')
      assert.deepEqual(await ids({ status: 'open' }), ['d3'])
    },
  },
]

const peerCases: Case[] = [
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
    name: 'only repin() replaces keys; a removed origin can be pinned again',
    async run({ store }) {
      assert.equal(await store.peers.repin(keys('https://b.example'), now), false)
      await store.peers.pin(keys('https://b.example'), now)
      assert.equal(await store.peers.repin(keys('https://b.example', 'new'), now + 1), true)
      assert.equal((await peer(store, 'https://b.example')).publicKey, 'sig-new')
      assert.equal(await store.peers.remove('https://b.example'), true)
      assert.equal(await store.peers.remove('https://b.example'), false)
      assert.equal(await store.peers.pin(keys('https://b.example'), now), 'inserted')
    },
  },
]

const blacklistCases: Case[] = [
  {
    name: 'a block of an origin does not cover other ports or hosts',
    async run({ store }) {
      const row = { serverUrl: 'https://evil.example', match: 'origin', reason: 'spam', createdAt: now } as const
      await store.blacklist.add(row)
      assert.deepEqual(await store.blacklist.matching('https://evil.example'), row)
      for (const other of [
        'https://evil.example:8443',
        'http://evil.example',
        'https://a.evil.example',
        'https://example',
      ]) {
        assert.equal(await store.blacklist.matching(other), undefined, other)
      }
    },
  },
  {
    name: 'a block of a domain covers its subdomains, with any scheme and port',
    async run({ store }) {
      await store.blacklist.add({
        serverUrl: 'https://evil.example:99',
        match: 'domain',
        reason: 'spam',
        createdAt: now,
      })
      for (const blocked of [
        'https://evil.example',
        'https://evil.example:99',
        'http://evil.example:8080',
        'https://a.evil.example',
        'https://a.b.evil.example:444',
      ]) {
        assert.equal((await store.blacklist.matching(blocked))?.match, 'domain', blocked)
      }
      for (const other of [
        'https://notevil.example',
        'https://example',
        'https://evil.example.org',
        'https://127.0.0.1',
      ]) {
        assert.equal(await store.blacklist.matching(other), undefined, other)
      }
    },
  },
  {
    name: 'an IP address has no parent domain',
    async run({ store }) {
      await store.blacklist.add({ serverUrl: '0.0.2', match: 'domain', reason: '', createdAt: now })
      await store.blacklist.add({ serverUrl: 'https://[2001:db8::1]', match: 'domain', reason: 'v6', createdAt: now })
      assert.equal(await store.blacklist.matching('https://127.0.0.2'), undefined)
      assert.equal((await store.blacklist.matching('https://[2001:db8::1]:8443'))?.reason, 'v6')
    },
  },
  {
    name: 'a repeated block is one row, and unblock removes it',
    async run({ store }) {
      const serverUrl = 'https://evil.example'
      await store.blacklist.add({ serverUrl, match: 'origin', reason: 'one', createdAt: now })
      await store.blacklist.add({ serverUrl, match: 'domain', reason: 'two', createdAt: now + 1 })
      const [row, ...others] = await store.blacklist.list()
      assert.deepEqual([row!.match, row!.reason, others.length], ['domain', 'two', 0])
      assert.equal(await store.blacklist.remove('https://evil.example:8443'), true)
      assert.equal(await store.blacklist.remove(serverUrl), false)
      assert.equal(await store.blacklist.matching(serverUrl), undefined)
    },
  },
]

const followCases: Case[] = [
  {
    name: 'a second follow of the same parties returns the first row',
    async run({ store }) {
      const first = await store.follows.insert(newFollow('f1'))
      assert.deepEqual(first, { row: newFollow('f1'), isNew: true })
      assert.deepEqual(await store.follows.insert(newFollow('f2', { accepted: true })), {
        row: newFollow('f1'),
        isNew: false,
      })
      assert.deepEqual(await store.follows.insert(newFollow('f1')), { row: newFollow('f1'), isNew: false })
      for (const [id, other] of [
        ['f3', { followerId: 'carol' }],
        ['f4', { followingId: 'carol' }],
        ['f5', { followerServerUrl: 'https://c.example' }],
        ['f6', { followerServerUrl: undefined }],
      ] as const) {
        assert.equal((await store.follows.insert(newFollow(id, other))).isNew, true, id)
      }
    },
  },
  {
    name: 'follows without a remote party are unique, too',
    async run({ store }) {
      const given = { followerServerUrl: undefined }
      assert.equal((await store.follows.insert(newFollow('f1', given))).isNew, true)
      assert.equal((await store.follows.insert(newFollow('f2', given))).row.id, 'f1')
      assert.equal((await store.follows.find('alice', 'bob', undefined))!.id, 'f1')
      assert.equal(await store.follows.find('alice', 'bob', 'https://b.example'), undefined)
    },
  },
  {
    name: 'ten concurrent inserts of the same parties make one row',
    async run({ store }) {
      const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => store.follows.insert(newFollow(`f${n}`))))
      assert.equal(answers.filter(({ isNew }) => isNew).length, 1)
      assert.equal(new Set(answers.map(({ row }) => row.id)).size, 1)
    },
  },
  {
    name: 'the id of another follow is refused',
    async run({ store }) {
      await store.follows.insert(newFollow('f1'))
      await assert.rejects(store.follows.insert(newFollow('f1', { followerId: 'carol' })), { code: 'STORAGE_ERROR' })
    },
  },
  {
    name: 'acknowledge() sets acknowledged, accepted only if true, and never resets them',
    async run({ store }) {
      const find = async () => (await store.follows.find('alice', 'bob', 'https://b.example'))!
      await store.follows.insert(newFollow('f1'))
      await store.follows.acknowledge('f1', false)
      assert.deepEqual([(await find()).acknowledged, (await find()).accepted], [true, false])
      await store.follows.acknowledge('f1', true)
      await store.follows.acknowledge('f1', false)
      assert.deepEqual([(await find()).acknowledged, (await find()).accepted], [true, true])
      assert.equal(await store.follows.remove('f1'), true)
      assert.equal(await store.follows.remove('f1'), false)
      await store.follows.acknowledge('f1', true)
      assert.equal(await store.follows.find('alice', 'bob', 'https://b.example'), undefined)
    },
  },
  {
    name: '[S23] text is data: quotes, statements, characters of every plane, great length',
    async run({ store }) {
      const hostile = [
        "'; DROP TABLE fed_follows; --",
        '"',
        '\\',
        '%_',
        '$1',
        '𝒳\u{10FFFF}\r\n\u0001',
        '',
        ' '.repeat(900),
        // The longest id of a message, incompressible.
        createHash('shake256', { outputLength: 512 }).update('long').digest('hex'),
      ]
      for (const [n, text] of hostile.entries()) {
        const given = { followerId: text, followingId: `${text}!`, followerServerUrl: text.slice(0, 253) || 'x' }
        assert.deepEqual((await store.follows.insert(newFollow(`f${n}`, given))).row, newFollow(`f${n}`, given))
        await store.deliveries.insert({ ...newDelivery(`d${n}${text}`), payload: text.repeat(100) })
        assert.equal((await store.deliveries.get(`d${n}${text}`))!.payload, text.repeat(100))
      }
    },
  },
]

export const rowCases: readonly Case[] = [...deliveryCases, ...peerCases, ...blacklistCases, ...followCases]
