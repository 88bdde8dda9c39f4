// Cases of the table delivery_jobs.

import assert from 'node:assert/strict'
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
