// A server that is killed and started again while a queue listens on it.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Storage } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { StorageMessageQueue } from 'holdfast/tasks'
import { startPostgres } from '../../../../servers/postgres.ts'
import { startRedis } from '../../../../servers/redis.ts'
import { until } from '../queue/driver.ts'

interface Server {
  kill(signal: NodeJS.Signals): void
  readonly exited: Promise<unknown>
  restart(): Promise<void>
  stop(): Promise<void>
}

async function survives(t: TestContext, server: Server, storage: Storage): Promise<void> {
  const queue = new StorageMessageQueue(storage, { logger: {} })
  const stop = new AbortController()
  const began: unknown[] = []
  const ended = queue.listen((message) => void began.push(message), { signal: stop.signal })
  t.after(async () => {
    stop.abort()
    await ended
    await queue.close()
    await server.stop()
  })
  await queue.enqueue('before')
  await queue.enqueue('delayed', { delay: 500 })
  await until(() => began.length >= 1)
  server.kill('SIGKILL')
  await server.exited
  await server.restart()
  const sends = (): Promise<boolean> =>
    queue.enqueue('after', { deduplicationKey: 'k' }).then(
      () => true,
      () => false,
    )
  await until(sends, 'it can be sent', 30_000)
  await until(() => began.includes('after') && began.includes('delayed'), 'all arrive', 30_000)
  assert.deepEqual(new Set(began), new Set(['before', 'delayed', 'after']))
}

test('[W16] on redis: the server is killed and started again, and listening goes on', async (t) => {
  const server = await startRedis({ appendonly: 'always' })
  await survives(t, server, new RedisStorage({ url: server.url }))
})

test('[W16] on postgres: the server is killed and started again, and listening goes on', async (t) => {
  const server = await startPostgres()
  await survives(t, server, new PostgresStorage({ url: server.url }))
})
