// Jobs that Redis hands over to an idle worker: two round trips for a request, and what becomes of them when the worker is killed before it
// starts them.

import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { Queue } from 'holdfast'
import { RedisStorage } from 'holdfast/redis'
import { aheadWorker, defaultType, type JobRecord, type Storage, storedType } from 'holdfast/storage'
import { type RedisServer, startRedis } from '../../../../servers/redis.ts'
import { startChild } from '../processes/child.ts'
import { processDrivers, stopServers } from '../processes/drivers.ts'
import { compileFirst } from './processes.ts'
import { untilDone } from './until-done.ts'

/** Longer than a test takes: no poll and no lost lease finds a job before. */
const neverMs = 600_000

/** Ended after the tests: a queue that stops without its server waits for it. */
let server: RedisServer

before(async () => {
  await compileFirst()
  server = await startRedis()
})
after(async () => {
  await server.stop()
  await stopServers()
})

function queueOn<R = string>(t: TestContext, storage: Storage): Queue<string, R> {
  const queue = new Queue<string, R>({ storage, leaseMs: neverMs, visibilityTimeout: neverMs, pollMs: neverMs })
  queue.on('error', () => {})
  t.after(() => queue.stop({ graceMs: 0 }))
  return queue
}

async function recordOf(storage: Storage, id: string): Promise<JobRecord> {
  const [record] = await storage.get([{ type: defaultType, id }], { parts: ['attempts'] })
  return record!
}

test('[P6] redis: a request with its response takes two round trips', async (t) => {
  const inspector = await server.connect()
  t.after(() => inspector.close())
  const [asking, working] = [0, 1].map(() => queueOn(t, new RedisStorage({ url: server.url })))
  working!.execute(async ({ payload }) => payload)
  await working!.start()
  assert.equal(await asking!.enqueueAndWait('first', 'first'), 'first')
  const trips = async (): Promise<number> => {
    const stats = String(await inspector.send('INFO', 'commandstats'))
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)![1])
  }
  await untilDone('requests with two round trips', 3, async (number) => {
    const earlier = await trips()
    assert.equal(await asking!.enqueueAndWait(`job-${number}`, 'payload'), 'payload')
    // The answer of the claim that records the outcome may still be on its way; the script has run.
    return (await trips()) - earlier === 2
  })
})

test('[P6] redis: jobs are handed over with the default options of a Queue', async (t) => {
  const storage = new RedisStorage({ url: server.url, prefix: 'default' })
  const [asking, working] = [storage, new RedisStorage({ url: server.url, prefix: 'default' })].map((of) => {
    const queue = new Queue<string, string>({ storage: of, name: 'mail' })
    t.after(() => queue.stop({ graceMs: 0 }))
    return queue
  })
  working!.execute(async ({ payload }) => payload)
  await working!.start()
  await asking!.enqueueAndWait('first', '')
  await untilDone('jobs that were handed over', 3, async (number) => {
    const id = `job-${number}`
    await asking!.enqueueAndWait(id, '')
    const [record] = await storage.get([{ type: storedType('queue', 'mail'), id }], { parts: ['attempts'] })
    return record!.attempts![0]!.worker.endsWith(aheadWorker(''))
  })
})

test('[P6] [S1] redis: kill -9 of the worker between the hand-over and the start: another worker runs the job, as its first attempt', async (t) => {
  const place = await processDrivers.redis!.open()
  t.after(() => place.close())
  const storage = place.storage()
  const asking = queueOn(t, storage)
  await asking.start()
  const file = new URL('fixtures/process.ts', import.meta.url)
  const settings = { leaseMs: neverMs, visibilityTimeout: neverMs, pollMs: neverMs }
  let handed = ''
  await untilDone('jobs that were handed over to a process that stands still', 1, async (number) => {
    const child = await startChild(file, t, place, 'work', settings)
    await child.hears((line) => line === 'ready', 'it is ready')
    await asking.enqueueAndWait(`first-${number}`, '')
    child.signal('SIGSTOP')
    handed = `job-${number}`
    await asking.enqueue(handed, '')
    const { state } = await recordOf(storage, handed)
    child.signal('SIGKILL')
    await child.exited
    return state === 'processing'
  })
  const working = queueOn<number>(t, place.storage())
  working.execute(async ({ attempts }) => attempts)
  await working.start()
  assert.equal(await asking.enqueueAndWait(handed, ''), 1)
  const { failures, attempts } = await recordOf(storage, handed)
  assert.equal(failures, 0)
  assert.match(attempts![0]!.worker, /\+ahead$/)
})
