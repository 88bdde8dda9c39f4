// Cases of the table delivery_jobs.

import assert from 'node:assert/strict'
import type { DeliveryRow } from '../../src/store/store.ts'
import type { Case } from './subject.ts'

const now = 1_767_225_600_000
export const newDelivery = (id: string, serverUrl = 'https://b.example') => ({
  id,
  name: 'deliver-follow',
  targetUrl: `${serverUrl}/inbox`,
  serverUrl,
  payload: '{"method":"FEDERATE"}',
  createdAt: now,
})

const rowOf = (n: number) => ({
  id: `d${n}`,
  targetUrl: `https://s${n}.example/inbox`,
  serverUrl: `https://s${n}.example`,
})

export const deliveryCases: Case[] = [
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
        bodyId: undefined,
        orderKey: undefined,
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
    name: 'a fan-out has one body, which a read of a row returns, and which goes with the last row',
    async run({ store }) {
      const rows = Array.from({ length: 53 }, (_, n) => rowOf(n))
      const fanOut = { name: 'deliver-post', bodyId: 'b1', payload: '{"large":1}', createdAt: now }
      await store.transaction((tx) => store.deliveries.fanOut({ ...fanOut, deliveries: rows }, tx))
      const listed = await store.deliveries.list({ limit: 100 })
      assert.deepEqual(
        listed.map(({ id, serverUrl, payload, bodyId }) => [id, serverUrl, payload, bodyId]).toSorted(),
        rows.map(({ id, serverUrl }) => [id, serverUrl, '', 'b1']).toSorted(),
      )
      assert.equal((await store.deliveries.get('d52'))!.payload, '{"large":1}')
      // A row that exists is left alone.
      const again = { ...fanOut, bodyId: 'b2', payload: '{}', deliveries: [rowOf(0), rowOf(99)] }
      await store.transaction((tx) => store.deliveries.fanOut(again, tx))
      assert.deepEqual(
        [(await store.deliveries.get('d0'))!.payload, (await store.deliveries.get('d99'))!.payload],
        ['{"large":1}', '{}'],
      )
      for (const { id } of rows.slice(1)) await store.deliveries.remove(id)
      assert.equal(await store.deliveries.sweepBodies(now + 1, 10), 0)
      await store.deliveries.remove('d0')
      assert.equal(await store.deliveries.sweepBodies(now, 10), 0)
      assert.equal(await store.deliveries.sweepBodies(now + 1, 10), 1)
    },
  },
  {
    name: 'the first open delivery of an order key is the oldest one to its server',
    async run({ store }) {
      const insert = (id: string, server: string, orderKey?: string): Promise<void> =>
        store.deliveries.insert({ ...newDelivery(id, server), orderKey })
      const [b, c] = ['https://b.example', 'https://c.example']
      await insert('z', b, 'k')
      await insert('a', b, 'k')
      await insert('other', b, 'other')
      await insert('elsewhere', c, 'k')
      await insert('free', b)
      assert.equal(await store.deliveries.first(b, 'k'), 'z')
      assert.equal(await store.deliveries.first(c, 'k'), 'elsewhere')
      await store.deliveries.failed('z', 'HTTP_STATUS', now)
      assert.equal(await store.deliveries.first(b, 'k'), 'a')
      await store.deliveries.reopen('z', now + 5)
      const { status, createdAt, settledAt, attempts } = (await store.deliveries.get('z'))!
      assert.deepEqual([status, createdAt, settledAt, attempts], ['open', now + 5, undefined, 0])
      assert.equal(await store.deliveries.first(b, 'k'), 'z')
      await store.deliveries.remove('z')
      await store.deliveries.remove('a')
      assert.equal(await store.deliveries.first(b, 'k'), undefined)
    },
  },
  {
    name: 'deliveries are listed page by page, those of one instant by id',
    async run({ store }) {
      for (const [id, at] of [
        ['d3', 1],
        ['d1', 1],
        ['d2', 0],
        ['d4', 2],
      ] as const) {
        await store.deliveries.insert({ ...newDelivery(id), createdAt: now + at })
      }
      const seen: string[] = []
      for (let after: DeliveryRow | undefined; ;) {
        const page = await store.deliveries.list({ limit: 1, status: 'open', after })
        if (page.length === 0) break
        seen.push(page[0]!.id)
        after = page[0]
      }
      assert.deepEqual(seen, ['d2', 'd1', 'd3', 'd4'])
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
      assert.deepEqual(await ids({ lastError: 'TRANSPORT' }), ['d2'])
      assert.deepEqual(await ids({ lastError: 'HTTP_STATUS' }), [])
      assert.deepEqual(await ids({ name: 'deliver-follow', limit: 2 }), ['d1', 'd2'])
      assert.deepEqual(await ids({ name: 'deliver-post' }), [])
      await store.deliveries.remove('d1')
      assert.deepEqual(await ids({ status: 'open' }), ['d3'])
    },
  },
  {
    name: 'what waits for a server is counted, and its oldest rows are dropped without their body',
    async run({ store }) {
      const [b, c] = ['https://b.example', 'https://c.example']
      assert.deepEqual(await store.deliveries.waiting(), { count: 0, oldestAt: undefined })
      for (let n = 0; n < 5; n++) await store.deliveries.insert({ ...newDelivery(`b${n}`, b), createdAt: now + n })
      await store.deliveries.insert({ ...newDelivery('c', c), createdAt: now - 1 })
      const ofB = { serverUrl: b, count: 5, oldestAt: now }
      assert.deepEqual(await store.deliveries.backlogs(0, 9), [ofB, { serverUrl: c, count: 1, oldestAt: now - 1 }])
      assert.deepEqual(await store.deliveries.backlogs(1, 9), [ofB])
      assert.deepEqual(await store.deliveries.waiting(), { count: 6, oldestAt: now - 1 })
      const dropped = await store.deliveries.drop(b, 2, now + 9, 10)
      assert.deepEqual(dropped.toSorted(), ['b0', 'b1', 'b2'])
      const { status, lastError, payload, bodyId, settledAt } = (await store.deliveries.get('b0'))!
      const expected = ['failed', 'BACKLOG_FULL', '', undefined, now + 9]
      assert.deepEqual([status, lastError, payload, bodyId, settledAt], expected)
      assert.deepEqual(await store.deliveries.drop(b, 2, now + 9, 10), [])
      await store.deliveries.forgetDropped(b, 1)
      const left = await store.deliveries.list({ limit: 10, status: 'failed' })
      assert.deepEqual(
        left.map(({ id }) => id),
        ['b2'],
      )
    },
  },
  {
    name: 'errors of the server to one delivery are counted, and forgotten when it is opened again',
    async run({ store }) {
      await store.deliveries.insert(newDelivery('d'))
      assert.deepEqual([await store.deliveries.refused('d'), await store.deliveries.refused('d')], [1, 2])
      assert.equal(await store.deliveries.refused('unknown'), 0)
      await store.deliveries.reopen('d', now)
      assert.equal(await store.deliveries.refused('d'), 1)
    },
  },
]
