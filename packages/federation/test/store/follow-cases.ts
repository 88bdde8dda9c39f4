// Cases of the table follows.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { FollowRow } from '../../src/store/store.ts'
import { newDelivery } from './delivery-cases.ts'
import type { Case } from './subject.ts'

const now = 1_767_225_600_000
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

export const followCases: Case[] = [
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
        ['f7', { followingServerUrl: 'https://b.example' }],
        ['f8', { followingServerUrl: 'https://a.example' }],
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
    name: 'follows by both servers under one pair of ids are two rows, and each is found by the followed server',
    async run({ store }) {
      const { follows } = store
      const ours = newFollow('ours', { followingServerUrl: 'https://b.example' })
      const theirs = newFollow('theirs', { followingServerUrl: 'https://a.example' })
      for (const row of [ours, theirs]) assert.deepEqual(await follows.insert(row), { row, isNew: true })
      for (const row of [ours, theirs]) {
        assert.deepEqual(await follows.find('alice', 'bob', 'https://b.example', row.followingServerUrl), row)
        assert.deepEqual((await follows.insert({ ...row, id: 'another' })).row, row)
      }
      assert.equal(await follows.find('alice', 'bob', 'https://b.example', 'https://c.example'), undefined)
      // A row without a followed server matches every one, after those that name it.
      await follows.insert(newFollow('either'))
      assert.equal((await follows.find('alice', 'bob', 'https://b.example', 'https://c.example'))?.id, 'either')
      assert.equal((await follows.find('alice', 'bob', 'https://b.example', 'https://a.example'))?.id, 'theirs')
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
        const given = {
          followerId: text,
          followingId: `${text}!`,
          followerServerUrl: text.slice(0, 253) || 'x',
          followingServerUrl: text.slice(0, 253) || 'x',
        }
        assert.deepEqual((await store.follows.insert(newFollow(`f${n}`, given))).row, newFollow(`f${n}`, given))
        await store.deliveries.insert({ ...newDelivery(`d${n}${text}`), payload: text.repeat(100) })
        assert.equal((await store.deliveries.get(`d${n}${text}`))!.payload, text.repeat(100))
      }
    },
  },
]
