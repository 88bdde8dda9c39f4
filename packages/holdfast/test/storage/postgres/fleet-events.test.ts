// Events reach the listeners of every process by messages, in the order of commits; while no process listens, none are sent.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { decodeEvents, encodeEvents, eventChannelOf } from '../../../src/storage/postgres/connection/event-messages.ts'
import { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import type { JobEvent, NewJob, Signal } from '../../../src/storage/storage.ts'
import { newSchema, postgresPlace, postgresWay, stopPostgres } from '../../postgres-subject.ts'
import { admin, eventually, until } from './fixtures.ts'

after(stopPostgres)

const retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
const job = (id: string, fields: Partial<NewJob> = {}): NewJob => ({
  type: 'mail',
  id,
  token: id,
  retention,
  ...fields,
})
const event = (id: string): JobEvent => ({ event: 'queued', id, attempt: 0, at: 1 })

async function opened(t: TestContext, schema: string, options = {}): Promise<PostgresStorage> {
  const storage = new PostgresStorage({ ...(await postgresWay()), schema, ...options })
  await storage.connect()
  t.after(() => storage.disconnect())
  return storage
}

const watchesOf = async (schema: string): Promise<number> => {
  const { pool } = await postgresPlace()
  const { rows } = await pool.query<{ n: number }>(`SELECT count(*)::integer AS n FROM "${schema}".watches`)
  return rows[0]!.n
}

test('messages stay below the limit of a NOTIFY, have every event once and in order, and differ', () => {
  const ids = Array.from({ length: 2_000 }, (_, index) => `${'ü'.repeat(index % 50)} ${index}`)
  const messages = encodeEvents([{ kind: 'events', type: 'a "type"', events: ids.map(event) }])
  assert.ok(messages.length > 5)
  for (const message of messages) assert.ok(Buffer.byteLength(message) < 8_000)
  assert.equal(new Set(messages).size, messages.length)
  const read = messages.map((message) => decodeEvents(message)!)
  assert.deepEqual(
    read.flatMap(({ events }) => events!.map(({ id }) => id)),
    ids,
  )
  assert.ok(read.every(({ type }) => type === 'a "type"'))
})

test('an event or a type that fits no message becomes a gap', () => {
  const signal: Signal = { kind: 'events', type: 't', events: [event('a'), event('x'.repeat(9_000)), event('b')] }
  const read = encodeEvents([signal]).map((message) => decodeEvents(message))
  assert.deepEqual(read, [{ type: 't', events: [event('a')] }, { type: 't' }, { type: 't', events: [event('b')] }])
  const long = encodeEvents([{ ...signal, type: 'y'.repeat(9_000), events: [event('a')] }])
  assert.deepEqual(
    long.map((message) => decodeEvents(message)),
    [{}],
  )
  for (const foreign of ['', 'x', '{}', '[]', '["a"]', 'null']) assert.equal(decodeEvents(foreign), undefined, foreign)
})

test('[trap 25] events of many calls and a transaction reach both processes alike, in one order', async (t) => {
  const schema = newSchema()
  const [one, two] = [await opened(t, schema), await opened(t, schema)]
  const heard = new Map<PostgresStorage, string[]>([
    [one, []],
    [two, []],
  ])
  for (const [storage, list] of heard) {
    const stop = await storage.listen([{ kind: 'events', type: 'mail' }], ({ events = [] }) => {
      for (const { event: name, id } of events) list.push(`${id} ${name}`)
    })
    t.after(stop)
  }
  await one.add(Array.from({ length: 300 }, (_, index) => job(`long id ${'-'.repeat(60)} ${index}`)))
  await two.transaction(async (tx) => {
    await two.add([job('in a transaction')], tx)
    await one.add([job('meanwhile')])
  })
  const types = [{ type: 'mail', leaseMs: 60_000 }]
  const { jobs } = await two.claim({ worker: 'w', slots: 1_000, types })
  await one.settle(
    jobs.map(({ type, id, worker, attempt }) => ({ type, id, worker, attempt, kind: 'completed', keepMs: 1 })),
  )
  await until(() => [...heard.values()].every((list) => list.length >= 302 * 3))
  assert.equal(heard.get(one)!.length, 302 * 3)
  assert.deepEqual(heard.get(one), heard.get(two))
  const of = (id: string): string[] => heard.get(one)!.filter((line) => line.startsWith(`${id} `))
  assert.deepEqual(of('meanwhile'), ['meanwhile queued', 'meanwhile processing', 'meanwhile completed'])
  assert.ok(heard.get(one)!.indexOf('meanwhile queued') < heard.get(one)!.indexOf('in a transaction queued'))
})

test('events are sent only while a process listens, and only those of watched types', async (t) => {
  const schema = newSchema()
  const storage = await opened(t, schema)
  const { pool } = await postgresPlace()
  const beside = await pool.connect()
  t.after(() => beside.release(true))
  const messages: string[] = []
  beside.on('notification', ({ payload }) => messages.push(payload!))
  await beside.query(`LISTEN "${eventChannelOf(schema)}"`)
  /** When this has arrived, all earlier messages have. */
  const settled = async (): Promise<string[]> => {
    await pool.query('SELECT pg_notify($1, $2)', [eventChannelOf(schema), 'end'])
    await until(() => messages.includes('end'))
    return messages.splice(0).filter((message) => message !== 'end')
  }
  await storage.add([job('before')])
  assert.deepEqual(await settled(), [])
  const stop = await storage.listen([{ kind: 'events', type: 'mail' }], () => {})
  assert.equal(await watchesOf(schema), 1)
  await storage.add([job('watched')])
  await storage.add([job('other', { type: 'sms' })])
  await storage.cancel([{ type: 'mail', id: 'before' }])
  assert.equal((await settled()).length, 2)
  await stop()
  await stop()
  assert.equal(await watchesOf(schema), 0)
  await storage.add([job('after')])
  assert.deepEqual(await settled(), [])
})

test('the watches of a process that is gone expire, and are deleted by the next listener', async (t) => {
  const schema = newSchema()
  const storage = await opened(t, schema)
  const { pool } = await postgresPlace()
  await pool.query(`INSERT INTO "${schema}".watches VALUES (1, 'gone', 1)`)
  const stop = await storage.listen([{ kind: 'events', type: 'mail' }], () => {})
  assert.equal(await watchesOf(schema), 1)
  await stop()
})

test('a listener that lost its connection gets a gap, and then events again', async (t) => {
  const schema = newSchema()
  const [one, two] = [await opened(t, schema), await opened(t, schema)]
  const signals: Signal[] = []
  const stop = await two.listen([{ kind: 'events', type: 'mail' }], (signal) => signals.push(signal))
  t.after(stop)
  const { server } = await postgresPlace()
  const query = await admin(t, server.url)
  await query(
    `SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE query LIKE 'LISTEN%${eventChannelOf(schema)}%'`,
  )
  await until(() => signals.some(({ gap }) => gap))
  await eventually(() => one.add([job('later')]))
  await until(() => signals.some(({ events }) => events?.some(({ id }) => id === 'later')))
})

test('without LISTEN a storage has no fleet events, and its listeners hear its own', async (t) => {
  const storage = await opened(t, newSchema(), { listen: false })
  assert.equal(storage.features.fleetEvents, false)
  const heard: string[] = []
  const stop = await storage.listen([{ kind: 'events', type: 'mail' }], ({ events = [] }) => {
    heard.push(...events.map(({ id }) => id))
  })
  await storage.add([job('own')])
  await until(() => heard.length > 0)
  assert.deepEqual(heard, ['own'])
  await stop()
})
