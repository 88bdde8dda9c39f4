// Calls in a transaction of the app that were not awaited: the transaction may have ended when their statements are sent. What is
// stored belongs to the transaction; all else is refused.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { drizzle as drizzleNodePg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import { Queue } from 'holdfast'
import { Kysely, PostgresDialect } from 'kysely'
import { Pool } from 'pg'
import postgres from 'postgres'
import { isHoldfastError } from '../../../src/errors.ts'
import { drizzleTx, kyselyTx, PostgresStorage, prismaTx } from '../../../src/storage/postgres/index.ts'
import type { JoinableTransaction } from '../../../src/storage/postgres/verbs/transaction.ts'
import type { NewJob } from '../../../src/storage/storage.ts'
import { newSchema, postgresPlace, stopPostgres } from '../../postgres-subject.ts'

let pool: Pool
let pipelining: Pool
let sql: postgres.Sql

before(async () => {
  const { server } = await postgresPlace()
  pool = new Pool({ connectionString: server.url, max: 2 })
  pipelining = new Pool({ connectionString: server.url, max: 2, pipeline: true } as ConstructorParameters<
    typeof Pool
  >[0])
  for (const one of [pool, pipelining]) one.on('error', () => {}) // the server may stop first
  sql = postgres(server.url, { max: 2, onnotice: () => {} })
})
after(async () => {
  await pool.end()
  await pipelining.end()
  await sql.end()
  await stopPostgres()
})

/** Runs the work in a transaction of the app, which is rolled back if the work throws. */
type InTx = (work: (tx: JoinableTransaction) => void) => Promise<unknown>

const onPool =
  (own: () => Pool): InTx =>
  async (work) => {
    const client = await own().connect()
    try {
      await client.query('BEGIN')
      work(client)
      await client.query('COMMIT')
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  }

/** A function that has started the work, and awaits none of it. */
const started =
  (work: (tx: JoinableTransaction) => void, adapt: (tx: never) => JoinableTransaction = (tx) => tx) =>
  async (tx: unknown): Promise<void> =>
    work(adapt(tx as never))

const ways: Record<string, InTx> = {
  'a client of pg': onPool(() => pool),
  'a client of pg that pipelines': onPool(() => pipelining),
  'postgres.js': (work) => sql.begin(started(work)),
  'Drizzle on pg': (work) => drizzleNodePg(pool).transaction(started(work, drizzleTx)),
  'Drizzle on postgres.js': (work) => drizzlePostgresJs(sql).transaction(started(work, drizzleTx)),
  Kysely: (work) =>
    new Kysely({ dialect: new PostgresDialect({ pool }) }).transaction().execute(started(work, kyselyTx)),
  'a client of pg that answers as Prisma does': (work) =>
    onPool(() => pool)((tx) => {
      const client = tx as { query(text: string, values: unknown[]): Promise<{ rows: unknown[] }> }
      const $queryRawUnsafe = async (text: string, ...values: unknown[]): Promise<unknown[]> =>
        (await client.query(text, values)).rows
      work(prismaTx({ $queryRawUnsafe }))
    }),
}

const kept = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
const job = (type: string, id: string): NewJob => ({ type, id, token: `token of ${id}`, retention: kept })
const isEnded = (error: unknown): boolean =>
  isHoldfastError(error, 'TRANSACTION_ENDED') || (error as { code?: unknown }).code === 'INVALID_ARGUMENT'

interface Late {
  /** Starts a call, and does not await it. */
  readonly add: (storage: PostgresStorage, tx: JoinableTransaction, id: string) => Promise<unknown>
  readonly type: string
}

const soon = (turns: number): Promise<void> =>
  turns === 0 ? Promise.resolve() : new Promise<void>((resolve) => setImmediate(resolve)).then(() => soon(turns - 1))

/** The calls, and how much later they reach the storage. */
const calls: Record<string, Late> = {
  'an add of a known type': { type: 'known', add: (storage, tx, id) => storage.add([job('known', id)], tx) },
  'an add of a new type': { type: 'new', add: (storage, tx, id) => storage.add([job(`new ${id}`, id)], tx) },
  'an add some microtasks later': {
    type: 'known',
    add: async (storage, tx, id) => {
      for (let tick = 0; tick < 10; tick++) await Promise.resolve()
      return storage.add([job('known', id)], tx)
    },
  },
  'an add with a key': {
    type: 'known',
    add: (storage, tx, id) => storage.add([{ ...job('known', id), deduplication: { key: id, mode: 'simple' } }], tx),
  },
  'an add some turns later': {
    type: 'known',
    add: async (storage, tx, id) => {
      await soon(2)
      return storage.add([job('known', id)], tx)
    },
  },
}

for (const [way, inTx] of Object.entries(ways)) {
  for (const [call, { add, type }] of Object.entries(calls)) {
    test(`${way}: ${call} that was not awaited is stored with its transaction, or refused`, async () => {
      const { server } = await postgresPlace()
      const storage = new PostgresStorage({ url: server.url, schema: newSchema(), listen: false, poolSize: 2 })
      await storage.connect()
      await storage.add([job('known', 'first')])
      const isStored = async (id: string): Promise<boolean> => {
        const [record] = await storage.get([{ type: type === 'new' ? `new ${id}` : type, id }])
        return record !== undefined
      }
      for (let round = 0; round < 5; round++) {
        for (const isRolledBack of [true, false]) {
          const id = `${isRolledBack ? 'rolled back' : 'committed'} ${round}`
          let adding: Promise<unknown> | undefined
          const ended = inTx((tx) => {
            adding = add(storage, tx, id)
            adding.catch(() => {})
            if (isRolledBack) throw new Error('rolled back by the app')
          })
          if (isRolledBack) await assert.rejects(ended, /rolled back by the app/)
          else await ended
          const error = await adding!.then(
            () => undefined,
            (reason: unknown) => reason as Error,
          )
          if (error) assert.ok(isEnded(error), `${id}: ${error.stack}`)
          const isExpected = !isRolledBack && error === undefined
          assert.equal(await isStored(id), isExpected, `${id}: ${error ? 'refused' : 'accepted'}`)
        }
      }
      await storage.disconnect()
    })
  }
}

for (const what of ['enqueue', 'enqueueMany'] as const) {
  test(`${what}() of a Queue that was not awaited, in a transaction of postgres.js that is rolled back, stores nothing`, async () => {
    const { server } = await postgresPlace()
    const storage = new PostgresStorage({ url: server.url, schema: newSchema(), listen: false })
    const queue = new Queue<number, void, JoinableTransaction>({ storage, name: 'late' })
    await queue.start()
    const late: Promise<unknown>[] = []
    await assert.rejects(
      sql.begin(async (tx) => {
        late.push(
          what === 'enqueue' ? queue.enqueue('a', 1, { tx }) : queue.enqueueMany([{ id: 'a', payload: 1 }], { tx }),
        )
        throw new Error('rolled back by the app')
      }),
      /rolled back by the app/,
    )
    const [settled] = await Promise.allSettled(late)
    if (settled!.status === 'rejected') assert.ok(isEnded(settled!.reason), String(settled!.reason))
    assert.equal((await storage.count({})).types.length, 0)
    await queue.stop()
  })
}

test('an add that was not awaited in a transaction of the storage is in it, or refused', async () => {
  const { server } = await postgresPlace()
  const storage = new PostgresStorage({ url: server.url, schema: newSchema(), listen: false })
  await storage.connect()
  for (const type of ['new', 'known', 'known']) {
    let adding: Promise<unknown> | undefined
    const failing = storage.transaction(async (tx) => {
      adding = storage.add([job(type, 'a')], tx)
      adding.catch(() => {})
      throw new Error('rolled back by the app')
    })
    await assert.rejects(failing, /rolled back by the app/)
    await adding!.then(undefined, (error: unknown) => assert.ok(isEnded(error), String(error)))
    assert.equal((await storage.get([{ type, id: 'a' }]))[0], undefined)
    await storage.add([job('known', `other ${type}`)])
  }
  await storage.disconnect()
})
