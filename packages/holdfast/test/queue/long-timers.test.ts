// Durations beyond what a timer of the platform can hold (about 24.8 days). That they end in time: test/clock.test.ts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage, Queue } from 'holdfast'
import { fate } from './clock-bench.ts'
import { sleep } from './driver.ts'

const days = 86_400_000

test('[trap 50] on the system’s clock nothing of 30 days fires early, or warns', async (t) => {
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const storage = new MemoryStorage()
  const long = { visibilityTimeout: 30 * days, leaseMs: 30 * days, pollMs: 30 * days }
  const queue = new Queue<string, string>({ storage, ...long, maxRetries: 1 })
  t.after(() => queue.stop({ timeout: 0 }))
  const aborts: unknown[] = []
  const seen: string[] = []
  queue.execute(({ id, signal }) => {
    seen.push(id)
    signal.addEventListener('abort', () => aborts.push(signal.reason))
    return new Promise(() => {})
  })
  await queue.start()
  await queue.enqueue('delayed', '', { delayMs: 30 * days })
  const waiting = fate(queue.enqueueAndWait('running', '', { timeout: 30 * days }))
  await sleep(100)
  assert.deepEqual(seen, ['running'])
  assert.deepEqual(aborts, [])
  assert.equal(waiting.state, 'pending')
  assert.equal((await queue.getStatus('delayed'))!.state, 'scheduled')
  assert.deepEqual(warnings, [])
})
