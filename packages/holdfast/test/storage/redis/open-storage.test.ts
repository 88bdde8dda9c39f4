// A process ends by itself although its storage is open, as on other drivers: an idle connection does not keep it alive. A call does, and so
// do a listener and a worker.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { Queue } from 'holdfast'
import { RedisStorage } from 'holdfast/redis'
import { programOf } from '../../../../../scripts/test-programs.ts'
import { type RedisServer, startRedis } from '../../../../../servers/redis.ts'
import { sleep } from '../../queue/driver.ts'

const child = programOf(new URL('open-storage-child.ts', import.meta.url))

let server: RedisServer
before(async () => {
  server = await startRedis()
})
after(() => server.stop())

/** Starts the child. What it ends with: its output, and its exit code, or null if it had to be killed. */
async function run(way: string, longestMs = 20_000): Promise<{ stdout: string; stderr: string; code: number | null }> {
  const running = spawn(process.execPath, ['--conditions=@holdfast/source', child, server.url, way])
  const timer = setTimeout(() => running.kill('SIGKILL'), longestMs)
  const [stdout, stderr, [code]] = await Promise.all([
    text(running.stdout),
    text(running.stderr),
    once(running, 'exit'),
  ])
  clearTimeout(timer)
  return { stdout, stderr, code: code as number | null }
}

function opened(): { storage: RedisStorage; queue: Queue<number, number> } {
  const storage = new RedisStorage({ url: server.url })
  return { storage, queue: new Queue({ storage, name: 'left-open' }) }
}

test('a process that only enqueues ends by itself', async () => {
  assert.deepEqual(await run('enqueue'), { stdout: 'enqueued', stderr: '', code: 0 })
  const { queue } = opened()
  assert.equal((await queue.getStatus('enqueue'))?.state, 'queued')
  await queue.stop()
})

test('a process that waits for a result stays until it has come', async (t) => {
  const waiting = run('wait')
  await sleep(1_500)
  const { queue } = opened()
  t.after(() => queue.stop())
  queue.execute(async ({ payload }) => 2 * payload)
  await queue.start()
  assert.deepEqual(await waiting, { stdout: '42', stderr: '', code: 0 })
})

test('a process with a worker stays while there is nothing to do', async (t) => {
  const working = run('work')
  await sleep(1_500)
  const { queue } = opened()
  t.after(() => queue.stop())
  assert.equal(await queue.enqueueAndWait('late', 21, { timeout: 10_000 }), 42)
  assert.equal((await working).code, 0)
})
