// A server that is stopped and started again while a queue listens to it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import { StorageMessageQueue } from 'holdfast/tasks'
import { startRedis } from '../../../../servers/redis.ts'
import { until } from '../queue/driver.ts'

test('[W16] on redis: the server is killed and started again, and listening goes on', async (t) => {
  const server = await startRedis({ appendonly: 'always' })
  const queue = new StorageMessageQueue(new RedisStorage({ url: server.url }), { logger: {} })
  const stop = new AbortController()
  const began: unknown[] = []
  const ended = queue.listen(
    (message) => {
      began.push(message)
    },
    { signal: stop.signal },
  )
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
  await until(
    () =>
      queue.enqueue('after').then(
        () => true,
        () => false,
      ),
    'it can be sent',
    30_000,
  )
  await until(() => began.includes('after') && began.includes('delayed'), 'all arrive', 30_000)
  assert.deepEqual(new Set(began), new Set(['before', 'delayed', 'after']))
})
