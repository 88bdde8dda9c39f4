// start() resolves when ready, run() when ended, stop() and Symbol.asyncDispose end both.

import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import { MemoryStorage, type Storage, StorageError } from 'holdfast'
import { createFederation } from '../src/create.ts'
import { FederationError } from '../src/errors.ts'
import type { Federation } from '../src/federation.ts'
import { generateKeyring } from '../src/keyring.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../src/store/store.ts'

const keyring = await generateKeyring()

interface Subject {
  readonly federation: Federation
  readonly lines: string[]
}

function made(t: TestContext, parts: { readonly storage?: Storage; readonly store?: Store } = {}): Subject {
  const lines: string[] = []
  const write = (_: object, message: string): void => void lines.push(message)
  const federation = createFederation({
    origin: 'https://a.example',
    storage: parts.storage ?? new MemoryStorage(),
    store: parts.store ?? sqliteStore({ path: ':memory:' }),
    keyring,
    logger: { info: write, error: write },
  })
  t.after(() => federation.stop({ graceMs: 0 }))
  return { federation, lines }
}

/** Makes connect() fail a number of times. */
function failing<T extends Storage | Store>(target: T, times: number, error: Error): T {
  const connect = target.connect.bind(target)
  let failures = 0
  target.connect = () => (failures++ < times ? Promise.reject(error) : connect())
  return target
}

const unreachable = new StorageError('the database is unreachable', { maybeApplied: false, transient: true })

/** Whether the promise settles without the help of a timer. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  promise.then(
    () => (settled = true),
    () => (settled = true),
  )
  for (let n = 0; n < 20; n++) await turn()
  return settled
}

test('start() resolves when both workers are ready, and again at once', async (t) => {
  const { federation } = made(t)
  const ready: string[] = []
  const workers = federation.startWorkers()
  workers.deliveryWorker.on('ready', () => ready.push('deliveries'))
  workers.healthCheckWorker.on('ready', () => ready.push('health checks'))
  await federation.start()
  assert.deepEqual(ready.toSorted(), ['deliveries', 'health checks'])
  await federation.start()
  await workers.start()
  await workers.deliveryWorker.start()
  assert.equal(ready.length, 2)
})

test('start() retries while the storage is unreachable', async (t) => {
  const { federation, lines } = made(t, { storage: failing(new MemoryStorage(), 3, unreachable) })
  await federation.start()
  // Two workers and upkeep connect.
  assert.equal(lines.filter((line) => /worker met an error|upkeep of delivery rows failed/.test(line)).length, 3)
  assert.equal(lines.filter((line) => line.includes('worker is connected')).length, 2)
})

test('start() retries while the tables are unreachable', async (t) => {
  const { federation, lines } = made(t, { store: failing(sqliteStore({ path: ':memory:' }), 2, unreachable) })
  await federation.start()
  assert.ok(lines.includes('federation: the tables cannot be opened. Another attempt follows.'))
  assert.deepEqual(await federation.peers.list(), [])
})

test('start() rejects where no retry can help', async (t) => {
  const pending = new FederationError('MIGRATION_PENDING', 'tables')
  const { federation } = made(t, { store: failing(sqliteStore({ path: ':memory:' }), Infinity, pending) })
  await assert.rejects(federation.start(), { code: 'MIGRATION_PENDING' })
  await assert.rejects(federation.run(), { code: 'MIGRATION_PENDING' })
})

test('stop() ends a start() that waits for a database', async (t) => {
  const { federation } = made(t, { storage: failing(new MemoryStorage(), Infinity, unreachable) })
  const [starting, running] = [federation.start(), federation.run()]
  assert.equal(await isSettled(starting), false)
  await federation.stop()
  await starting
  await running
})

test('the signal of run() stops it', async (t) => {
  const { federation } = made(t)
  const abort = new AbortController()
  const running = federation.run({ signal: abort.signal, graceMs: 0 })
  await federation.start()
  assert.equal(await isSettled(running), false)
  abort.abort()
  await running
  const other = made(t).federation
  await other.run({ signal: AbortSignal.abort() })
  await assert.rejects(other.run({ signal: 'abort' } as object), { code: 'INVALID_ARGUMENT' })
})

test('run() resolves when stop() has ended', async (t) => {
  const { federation } = made(t)
  const running = federation.run()
  const workers = federation.startWorkers()
  const both = workers.run()
  await federation.start()
  assert.deepEqual([await isSettled(running), await isSettled(both)], [false, false])
  await workers.stop()
  await both
  assert.equal(await isSettled(running), false, 'the federation itself is still open')
  await federation.stop()
  await running
})

test('Symbol.asyncDispose stops a federation, its workers, and one worker', async (t) => {
  const { federation } = made(t)
  const workers = federation.startWorkers()
  await workers.start()
  const running = workers.deliveryWorker.run()
  await workers.deliveryWorker[Symbol.asyncDispose]()
  await running
  await workers[Symbol.asyncDispose]()
  await federation[Symbol.asyncDispose]()
  await federation.run()
})
