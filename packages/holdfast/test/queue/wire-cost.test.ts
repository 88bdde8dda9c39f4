// What a job costs a server: requests that it is sent, and commands that it runs for them. Counted, never timed.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Queue, type Storage } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { startPostgres } from '../../../../servers/postgres.ts'
import { startRedis } from '../../../../servers/redis.ts'
import { parseInfo, type RespClient } from '../../../../servers/resp.ts'
import { sized } from '../full-size.ts'

const jobs = 50
/** Waiting. */
const many = sized(1_000_000, 5_000)

/** So many requests with their responses, one after the other. */
async function request(t: TestContext, storage: Storage): Promise<() => Promise<void>> {
  const queue = new Queue<string, string>({ storage, blockTimeout: 60, leaseMs: 60_000 })
  t.after(() => queue.stop())
  queue.execute(({ id }) => id)
  await queue.start()
  await queue.enqueueAndWait('first', '')
  return async () => {
    for (let n = 0; n < jobs; n++) await queue.enqueueAndWait(`${n}`, '')
  }
}

/** How often each command was run, those inside of scripts too. */
async function commandsOf(inspector: RespClient): Promise<Map<string, number>> {
  const stats = parseInfo(String(await inspector.send('INFO', 'commandstats')))
  return new Map(
    [...stats].flatMap(([name, text]) => {
      const calls = /calls=(\d+)/.exec(text)
      return name === 'cmdstat_info' || !calls ? [] : [[name, Number(calls[1])]]
    }),
  )
}

async function openRedis(t: TestContext): Promise<{ storage: RedisStorage; inspector: RespClient }> {
  const server = await startRedis()
  t.after(() => server.stop())
  const inspector = await server.connect()
  t.after(() => inspector.close())
  return { storage: new RedisStorage({ url: server.url }), inspector }
}

test('[trap 39] redis: a request with its response takes at most five round trips in all', async (t) => {
  const { storage, inspector } = await openRedis(t)
  const run = await request(t, storage)
  await inspector.send('CONFIG', 'RESETSTAT')
  await run()
  const commands = await commandsOf(inspector)
  const scripts = ['evalsha', 'eval', 'fcall'].map((name) => commands.get(`cmdstat_${name}`) ?? 0)
  const trips = scripts.reduce((sum, calls) => sum + calls, 0)
  t.diagnostic(`${trips / jobs} round trips`)
  assert.ok(trips > jobs && Math.round(trips / jobs) <= 5)
})

test('[trap 39] postgres: a request with its response takes at most five statements in all', async (t) => {
  const server = await startPostgres({ settings: { log_statement: 'all' } })
  t.after(() => server.stop())
  const run = await request(t, new PostgresStorage({ url: server.url }))
  const before = server.log.length
  await run()
  const statements = server.log.slice(before).match(/LOG: {2}(?:execute|statement)/g)!
  t.diagnostic(`${statements.length / jobs} statements`)
  // Of the one before them, one may still be on its way.
  assert.ok(statements.length > jobs && Math.round(statements.length / jobs) <= 5)
})

test(`[trap 39] redis: claim, settle and cancel take as many commands with ${many} waiting as with 1000`, async (t) => {
  const counts: Map<string, number>[] = []
  for (const waiting of [1_000, many]) {
    const { storage, inspector } = await openRedis(t)
    await storage.connect()
    const retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
    for (let from = 0; from < waiting; from += 1_000) {
      const ids = Array.from({ length: 1_000 }, (_, n) => `${from + n}`)
      await storage.add(ids.map((id) => ({ type: 'mail', id, token: `token of ${from}`, retention })))
    }
    const types = [{ type: 'mail', leaseMs: 60_000 }]
    const round = async (from: number): Promise<void> => {
      const { jobs: claimed } = await storage.claim({ worker: 'w', slots: 10, types })
      assert.equal(claimed.length, 10)
      const ends = claimed.map(({ type, id, worker, attempt }) => ({
        type,
        id,
        worker,
        attempt,
        kind: 'completed' as const,
      }))
      await storage.settle(ends)
      const cancelled = Array.from({ length: 10 }, (_, n) => ({ type: 'mail', id: `${from + n}` }))
      await storage.cancel(cancelled)
    }
    await round(500)
    await inspector.send('CONFIG', 'RESETSTAT')
    await round(600)
    counts.push(await commandsOf(inspector))
    await storage.disconnect()
  }
  assert.ok(counts[0]!.size > 5)
  assert.deepEqual(counts[1], counts[0])
})
