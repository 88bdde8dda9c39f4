// Cases of transactions, migrations and connections.

import assert from 'node:assert/strict'
import { MemoryStorage, Queue } from 'holdfast'
import { storedType } from 'holdfast/storage'
import type { StoreTransaction } from '../../src/store/store.ts'
import type { Case } from './subject.ts'

const now = 1_767_225_600_000
const delivery = (id: string) => ({
  id,
  name: 'deliver-follow',
  targetUrl: 'https://b.example/inbox',
  serverUrl: 'https://b.example',
  payload: '{}',
  createdAt: now,
})
const follow = {
  id: 'f1',
  followerId: 'alice',
  followingId: 'bob',
  followerServerUrl: 'https://b.example',
  followingServerUrl: undefined,
  accepted: false,
  acknowledged: false,
  createdAt: now,
}

const transactionCases: Case[] = [
  {
    name: 'a transaction commits rows of the store and of the app',
    async run({ store, inside, ask }) {
      const answer = await store.transaction(async (tx) => {
        await store.follows.insert(follow, tx)
        assert.equal((await store.follows.find('alice', 'bob', 'https://b.example', undefined, tx))!.id, 'f1')
        await store.deliveries.insert(delivery('d1'), tx)
        await inside(tx, `UPDATE {delivery_jobs} SET payload = 'by the app' WHERE id = 'd1'`)
        return ['what', 'it', 'says']
      })
      assert.deepEqual(answer, ['what', 'it', 'says'])
      assert.deepEqual(await ask('SELECT payload FROM {delivery_jobs}'), [['by the app']])
      assert.deepEqual(await ask('SELECT id FROM {follows}'), [['f1']])
    },
  },
  {
    name: 'a failed transaction leaves no rows',
    async run({ store, ask }) {
      const failing = store.transaction(async (tx) => {
        await store.follows.insert(follow, tx)
        await store.deliveries.insert(delivery('d1'), tx)
        throw new Error('no')
      })
      await assert.rejects(failing, /^Error: no$/)
      assert.deepEqual(await ask('SELECT id FROM {follows} UNION ALL SELECT id FROM {delivery_jobs}'), [])
      // The next transaction succeeds.
      await store.transaction((tx) => store.deliveries.insert(delivery('d1'), tx))
      assert.equal((await store.deliveries.get('d1'))!.id, 'd1')
    },
  },
  {
    name: 'concurrent transactions all commit',
    async run({ store }) {
      await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          store
            .transaction(async (tx) => {
              await store.deliveries.insert(delivery(`d${n}`), tx)
              if (n % 2 === 1) throw new Error('no')
            })
            .catch(() => {}),
        ),
      )
      const ids = (await store.deliveries.list({ limit: 10 })).map(({ id }) => id)
      assert.deepEqual(ids, ['d0', 'd2', 'd4', 'd6'])
    },
  },
  {
    name: 'works that share a commit: the failure of one rolls back its own writes, and nothing of the others',
    async run({ store }) {
      const ended: StoreTransaction[] = []
      const works = Array.from({ length: 5 }, (_, n) =>
        store.shared(async (tx) => {
          ended.push(tx)
          await store.deliveries.insert(delivery(`d${n}`), tx)
          if (n === 1) throw new Error('no')
          if (n === 3) await store.deliveries.insert({ ...delivery('bad'), payload: null as unknown as string }, tx)
          return n
        }),
      )
      const results = await Promise.allSettled(works)
      assert.deepEqual(
        results.map((result) => (result.status === 'fulfilled' ? result.value : 'rejected')),
        [0, 'rejected', 2, 'rejected', 4],
      )
      const ids = (await store.deliveries.list({ limit: 10 })).map(({ id }) => id)
      assert.deepEqual(ids, ['d0', 'd2', 'd4'])
      assert.equal(ended.length, 5)
      for (const tx of ended)
        await assert.rejects(store.deliveries.insert(delivery('late'), tx), { code: 'INVALID_ARGUMENT' })
    },
  },
  {
    name: 'a transaction that has ended, or belongs to another store, is refused',
    async run({ store, another }) {
      let ended: StoreTransaction | undefined
      await store.transaction(async (tx) => void (ended = tx))
      await assert.rejects(store.deliveries.insert(delivery('d1'), ended), { code: 'INVALID_ARGUMENT' })
      // Also while another transaction is open: the row would become part of that one.
      await store.transaction(() =>
        assert.rejects(store.deliveries.insert(delivery('d1'), ended), { code: 'INVALID_ARGUMENT' }),
      )
      const other = another()
      await other.connect()
      try {
        await store.transaction((tx) => assert.rejects(other.follows.insert(follow, tx), { code: 'INVALID_ARGUMENT' }))
      } finally {
        await other.disconnect()
      }
      await assert.rejects(store.deliveries.insert(delivery('d1'), { handle: 1 }), { code: 'INVALID_ARGUMENT' })
      assert.throws(() => store.join({}), { code: 'INVALID_ARGUMENT' })
      assert.throws(() => store.join(undefined), { code: 'INVALID_ARGUMENT' })
    },
  },
  {
    name: 'methods join a transaction of the app, which commits or rolls back',
    async run({ store, ownTransaction, ask }) {
      await ownTransaction(async (tx) => {
        await store.follows.insert(follow, store.join(tx))
        await store.deliveries.insert(delivery('d1'), store.join(tx))
      })
      assert.deepEqual(await ask('SELECT id FROM {follows} UNION ALL SELECT id FROM {delivery_jobs} ORDER BY 1'), [
        ['d1'],
        ['f1'],
      ])
      const failing = ownTransaction(async (tx) => {
        await store.deliveries.remove('d1', store.join(tx))
        await store.follows.remove('f1', store.join(tx))
        throw new Error('no')
      })
      await assert.rejects(failing, /no/)
      assert.deepEqual(await ask('SELECT id FROM {follows} UNION ALL SELECT id FROM {delivery_jobs} ORDER BY 1'), [
        ['d1'],
        ['f1'],
      ])
    },
  },
  {
    name: 'a failed statement does not affect concurrent ones',
    async run({ store }) {
      await store.follows.insert(follow)
      const results = await Promise.allSettled([
        store.deliveries.insert(delivery('d1')),
        store.deliveries.insert({ ...delivery('d2'), payload: null as unknown as string }),
        store.deliveries.insert(delivery('d3')),
      ])
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      assert.deepEqual(
        (await store.deliveries.list({ limit: 9 })).map(({ id }) => id),
        ['d1', 'd3'],
      )
    },
  },
  {
    name: 'follow, delivery and job are committed together, or none of them',
    needs: 'storage',
    async run({ store, storage, ask }) {
      const queue = new Queue<{ n: number }, void>({ name: 'joined', storage: storage! })
      const send = (id: string, fails: boolean): Promise<void> =>
        store.transaction(async (tx) => {
          await store.follows.insert({ ...follow, id, followerId: id }, tx)
          await store.deliveries.insert(delivery(id), tx)
          await queue.enqueue(id, { n: 1 }, { tx: store.storageTransaction(storage!, tx) })
          if (fails) throw new Error('no')
        })
      try {
        await send('kept', false)
        await assert.rejects(send('gone', true), /no/)
        assert.deepEqual(await ask('SELECT id FROM {follows}'), [['kept']])
        assert.deepEqual(await ask('SELECT id FROM {delivery_jobs}'), [['kept']])
        const refs = ['kept', 'gone'].map((id) => ({ type: storedType('queue', 'joined'), id }))
        assert.deepEqual(
          (await storage!.get(refs)).map((job) => job?.state),
          ['queued', undefined],
        )
      } finally {
        await queue.stop()
      }
      // Another storage is not assumed to share the database.
      const other = new MemoryStorage()
      await store.transaction(async (tx) => assert.equal(store.storageTransaction(other, tx), undefined))
    },
  },
]

const migrationCases: Case[] = [
  {
    name: 'each migration is recorded with its checksum, and runs once',
    async run({ store, ask }) {
      const before = await ask('SELECT number, checksum FROM {migrations} ORDER BY number')
      assert.deepEqual(
        before.map(([number]) => Number(number)),
        before.map((_, index) => index + 1),
      )
      assert.ok(before.length > 1)
      for (const [, checksum] of before) assert.match(String(checksum), /^[0-9a-f]{64}$/)
      await store.migrate()
      assert.deepEqual(await ask('SELECT number, checksum FROM {migrations} ORDER BY number'), before)
    },
  },
  {
    name: 'concurrent migrations run one after the other',
    async run({ fresh }) {
      const [first, ...others] = [fresh(), fresh(), fresh(), fresh()] as const
      await Promise.all([first, ...others].map((store) => store.migrate()))
      await first.connect()
      await first.deliveries.insert(delivery('d1'))
      await first.disconnect()
    },
  },
  {
    name: 'tables of other migrations, or of more of them, are refused',
    async run({ another, ask }) {
      await ask(`UPDATE {migrations} SET checksum = 'another'`)
      await assert.rejects(another().connect(), /number 1 differs/)
      await assert.rejects(another().migrate(), /number 1 differs/)
      await ask(`INSERT INTO {migrations} SELECT MAX(number) + 1, 'newer' FROM {migrations}`)
      await assert.rejects(another().connect(), /Install a newer version/)
    },
  },
  {
    name: 'migrationSql() creates the tables that connect() accepts',
    async run({ fresh, ask }) {
      const store = fresh()
      for (const text of store.migrationSql().split(/;\n/)) if (text.trim() !== '') await ask(text)
      await store.connect()
      await store.deliveries.insert(delivery('d1'))
      assert.equal((await store.deliveries.get('d1'))!.id, 'd1')
      await store.disconnect()
    },
  },
]

const connectCases: Case[] = [
  {
    name: 'connections are reference-counted; without one every method is refused',
    async run({ another }) {
      const store = another()
      await assert.rejects(store.peers.get('https://b.example'), { code: 'STORAGE_CLOSED' })
      await Promise.all([store.connect(), store.connect()])
      await store.disconnect()
      assert.equal(await store.peers.get('https://b.example'), undefined)
      await store.disconnect()
      await store.disconnect()
      await assert.rejects(store.peers.get('https://b.example'), { code: 'STORAGE_CLOSED' })
      await assert.rejects(store.deliveries.remove('d1'), { code: 'STORAGE_CLOSED' })
      await assert.rejects(
        store.transaction(async () => {}),
        { code: 'STORAGE_CLOSED' },
      )
      await store.connect()
      assert.equal(await store.peers.get('https://b.example'), undefined)
      await store.disconnect()
    },
  },
  {
    name: 'one store reads what another one has written',
    async run({ store, another }) {
      const other = another()
      await other.connect()
      await store.deliveries.insert(delivery('d1'))
      assert.equal((await other.deliveries.get('d1'))!.id, 'd1')
      await other.disconnect()
    },
  },
]

export const lifeCases: readonly Case[] = [...transactionCases, ...migrationCases, ...connectCases]
