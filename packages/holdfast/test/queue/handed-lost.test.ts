// Jobs that are handed over by a hint that a proxy drops: the worker starts them when their lease of a second ends, and no attempt is spent.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { Queue } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { aheadWorker, defaultType, handedLeaseMs, type Storage } from 'holdfast/storage'
import { messageFilter, notification } from '../../../../servers/postgres-messages.ts'
import { type Proxy, startProxy } from '../../../../servers/proxy.ts'
import { startRedis } from '../../../../servers/redis.ts'
import { sized } from '../full-size.ts'
import { newSchema, planOnce, postgresPlace, stopPostgres } from '../postgres-subject.ts'
import { untilDone } from './until-done.ts'

/** Longer than a test takes: no poll and no lost lease finds a job before. */
const neverMs = 600_000
/** A job that starts later was found by something else than the look at the end of its lease. On a quiet machine it takes a few ms. */
const slackMs = 2_000

/** Ended after the tests: a queue that stops without its server waits for it. */
const ends: (() => Promise<unknown>)[] = []
after(async () => {
  for (const end of ends) await end()
})

interface Ways {
  readonly direct: Storage
  /** By way of the proxy. */
  readonly proxied: Storage
  /** Whether the proxy drops hints from now on. */
  readonly dropHints: (on: boolean) => void
  /** Hints that were dropped, if the proxy counts them. */
  readonly dropped: () => number
}

async function proxyTo(port: number): Promise<Proxy> {
  const proxy = await startProxy(port)
  ends.unshift(() => proxy.stop())
  return proxy
}

async function redisWays(): Promise<Ways> {
  const server = await startRedis()
  ends.push(() => server.stop())
  const proxy = await proxyTo(server.port)
  return {
    direct: new RedisStorage({ url: server.url }),
    proxied: new RedisStorage({ url: `redis://127.0.0.1:${proxy.port}` }),
    dropHints: (on) => proxy.swallowReplies(on && ((chunk) => chunk.includes('message'))),
    dropped: () => proxy.counts.dropped,
  }
}

async function postgresWays(): Promise<Ways> {
  const { server } = await postgresPlace(planOnce)
  ends.push(stopPostgres)
  const proxy = await proxyTo(server.port)
  let [drops, dropped] = [false, 0]
  proxy.filterReplies(() =>
    messageFilter((type) => {
      const isDropped = drops && type === notification
      if (isDropped) dropped++
      return isDropped
    }),
  )
  const schema = newSchema()
  return {
    direct: new PostgresStorage({ url: server.url, schema }),
    proxied: new PostgresStorage({ url: server.url.replace(`:${server.port}/`, `:${proxy.port}/`), schema }),
    dropHints: (on) => (drops = on),
    dropped: () => dropped,
  }
}

function queueOn<R = string>(t: TestContext, storage: Storage): Queue<string, R> {
  const queue = new Queue<string, R>({ storage, leaseMs: neverMs, visibilityTimeout: neverMs, pollMs: neverMs })
  queue.on('error', () => {})
  t.after(() => queue.stop({ graceMs: 0 }))
  return queue
}

for (const [driver, open] of Object.entries({ redis: redisWays, postgres: postgresWays })) {
  test(`[P6] ${driver}: hints that a proxy drops: the worker finds what was handed over, and no attempt is spent`, async (t) => {
    const { direct, proxied, dropHints, dropped } = await open()
    const [asking, working] = [queueOn(t, direct), queueOn<number>(t, proxied)]
    working.execute(async ({ attempts }) => attempts)
    await working.start()
    await asking.enqueueAndWait('first', '')
    const late: number[] = []
    await untilDone('jobs whose hint was lost', sized(20, 3), async (number) => {
      const id = `job-${number}`
      const droppedBefore = dropped()
      dropHints(true)
      await asking.enqueue(id, '')
      const [{ state, createdAt } = assert.fail()] = await direct.get([{ type: defaultType, id }])
      if (state !== 'processing') {
        // This hint was an ordinary one.
        dropHints(false)
        await asking.enqueueAndWait(`wake-${number}`, '')
      }
      assert.equal(await asking.enqueueAndWait(id, ''), 1)
      dropHints(false)
      const [{ failures, attempts } = assert.fail()] = await direct.get([{ type: defaultType, id }], {
        parts: ['attempts'],
      })
      assert.equal(failures, 0)
      const [lost, run] = attempts!
      // The offer was over, or the worker's last look at the end of an offer claimed the job.
      if (!lost!.worker.endsWith(aheadWorker(''))) return false
      assert.equal(state, 'processing')
      assert.ok(dropped() > droppedBefore, 'the hint was dropped')
      assert.equal(lost!.outcome, 'stalled')
      assert.ok(lost!.startedAt - createdAt <= 1)
      late.push(run!.startedAt - createdAt)
      return true
    })
    t.diagnostic(
      `${late.length} hints lost: the jobs started ${Math.min(...late)} … ${Math.max(...late)} ms after their add`,
    )
    assert.ok(Math.max(...late) <= handedLeaseMs + slackMs)
  })
}
