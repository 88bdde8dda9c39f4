// Events are published only for watched types, and the server knows which types are watched.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Signal } from 'holdfast/storage'
import { RedisStorage } from 'holdfast/redis'
import { startRedis } from '../../../../../servers/redis.ts'
import { until } from '../../queue/driver.ts'

test('a server that restarts without its data learns at once which types are watched', async (t) => {
  const server = await startRedis()
  t.after(() => server.stop())
  const storage = new RedisStorage({ url: server.url, prefix: 'watched' })
  await storage.connect()
  t.after(() => storage.disconnect())
  const signals: Signal[] = []
  t.after(await storage.listen([{ kind: 'events', type: 'mail' }], (signal) => void signals.push(signal)))
  server.kill('SIGKILL')
  await server.exited
  await server.restart()
  await until(() => signals.some(({ gap }) => gap), 'the gap')
  const retention = { completedMs: 1_000, failedMs: 1_000, cancelledMs: 1_000 }
  await storage.add([{ type: 'mail', id: 'after', token: 'token', retention }])
  await until(() => signals.some(({ events }) => events?.some(({ id }) => id === 'after')), 'the event')
  assert.equal(signals.filter(({ gap }) => gap).length, 1)
})
