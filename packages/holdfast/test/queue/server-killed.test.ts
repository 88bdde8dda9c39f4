// A server that is killed in the middle: what it acknowledged is there when it is back, and runs once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Queue, type Storage } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { startPostgres } from '../../../../servers/postgres.ts'
import { startRedis } from '../../../../servers/redis.ts'
import { until } from './driver.ts'

interface Server {
  readonly url: string
  readonly exited: Promise<unknown>
  kill(signal: 'SIGKILL'): void
  restart(): Promise<void>
  stop(): Promise<void>
}

const drivers: Record<string, { start(): Promise<Server>; storage(url: string): Storage }> = {
  redis: {
    start: () => startRedis({ appendonly: 'always' }),
    storage: (url) => new RedisStorage({ url, durability: 'full' }),
  },
  postgres: {
    start: () => startPostgres({ fsync: true }),
    storage: (url) => new PostgresStorage({ url }),
  },
}

for (const [name, driver] of Object.entries(drivers)) {
  test(`[Q4.09] ${name}: jobs that were acknowledged are there after a kill -9 of the server, and run once`, async (t) => {
    const server = await driver.start()
    t.after(() => server.stop())
    const producer = new Queue<string>({ storage: driver.storage(server.url) })
    producer.on('error', () => {})
    await producer.start()
    const acknowledged: string[] = []
    const progress = { isOver: false }
    let last = 0
    const enqueueAll = async (): Promise<void> => {
      while (!progress.isOver) {
        const id = `${last++}`
        try {
          await producer.enqueue(id, id)
          acknowledged.push(id)
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'STORAGE_ERROR')
        }
      }
    }
    const producing = Promise.all(Array.from({ length: 10 }, enqueueAll))
    await until(() => acknowledged.length >= 100, 'some are enqueued')
    server.kill('SIGKILL')
    await server.exited
    progress.isOver = true
    await server.restart()
    await producing
    await producer.stop()
    const worker = new Queue<string>({ storage: driver.storage(server.url), concurrency: 50 })
    t.after(() => worker.stop())
    const runs = new Map<string, number>()
    worker.execute(({ id, payload }) => {
      assert.equal(payload, id)
      runs.set(id, (runs.get(id) ?? 0) + 1)
    })
    await worker.start()
    await until(() => acknowledged.every((id) => runs.has(id)), 'all have run')
    assert.deepEqual(new Set(runs.values()), new Set([1]))
  })
}
