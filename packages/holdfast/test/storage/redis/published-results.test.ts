// What hints and claims carry to save a read: results of completed jobs, and when the next job is due.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Queue } from 'holdfast'
import { type ClaimedJob, type NewJob, type Signal } from 'holdfast/storage'
import { RedisStorage } from 'holdfast/redis'
import { startRedis } from '../../../../../servers/redis.ts'
import { until } from '../../queue/driver.ts'

const retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
const job = (id: string): NewJob => ({ type: 'mail', id, token: `token of ${id}`, retention })

async function open(t: TestContext) {
  const server = await startRedis()
  t.after(() => server.stop())
  const storage = new RedisStorage({ url: server.url })
  await storage.connect()
  t.after(() => storage.disconnect())
  const claim = (slots: number) => storage.claim({ worker: 'w', slots, types: [{ type: 'mail', leaseMs: 60_000 }] })
  return { server, storage, claim }
}

const ended = ({ type, id, worker, attempt }: ClaimedJob, result?: Uint8Array) =>
  ({ type, id, worker, attempt, kind: 'completed', result }) as const

test('a `done` hint of settle and of claim carries tokens and results; of a large result only the id', async (t) => {
  const { storage, claim } = await open(t)
  const signals: Signal[] = []
  t.after(await storage.listen([{ kind: 'done', type: 'mail' }], (signal) => void signals.push(signal)))
  await storage.add(['a', 'b', 'c', 'd'].map(job))
  const [a, b, c, d] = (await claim(4)).jobs
  await storage.settle([ended(a!, Buffer.from([0, 255])), ended(b!, Buffer.alloc(5_000)), ended(c!)])
  await storage.claim({ worker: 'w', slots: 1, types: [{ type: 'mail', leaseMs: 60_000 }], outcomes: [ended(d!)] })
  await until(() => signals.length === 2, 'both hints')
  assert.deepEqual(
    signals.map(({ ids }) => ids),
    [['a', 'b', 'c'], ['d']],
  )
  const published = signals
    .flatMap(({ completed = [] }) => completed)
    .map(({ id, token, result }) => [id, token, result])
  assert.deepEqual(published, [
    ['a', 'token of a', Buffer.from([0, 255])],
    ['c', 'token of c', undefined],
    ['d', 'token of d', undefined],
  ])
})

test('enqueueAndWait reads no result, and an idle worker does not call nextDueAt', async (t) => {
  const { storage } = await open(t)
  const asked: string[] = []
  for (const verb of ['get', 'nextDueAt'] as const) {
    const call = storage[verb].bind(storage) as (...args: unknown[]) => Promise<unknown>
    Object.assign(storage, { [verb]: (...args: unknown[]) => (asked.push(verb), call(...args)) })
  }
  const queue = new Queue<number, number>({ storage, concurrency: 2 })
  queue.execute(({ payload }) => payload + 1)
  await queue.start()
  t.after(() => queue.stop())
  asked.length = 0
  for (let n = 0; n < 20; n++) assert.equal(await queue.enqueueAndWait(`job ${n}`, n), n + 1)
  assert.deepEqual(asked, [])
})
