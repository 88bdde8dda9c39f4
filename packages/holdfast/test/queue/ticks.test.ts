// How many passes of the event loop a request with its response takes where the storage answers at once, and how many requests one
// pass may take: timers and I/O must have their turn.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { MemoryStorage, Queue } from 'holdfast'

/** Counts the passes of the event loop from now on. */
function countPasses(t: TestContext): () => number {
  let passes = 0
  let next = setImmediate(function count() {
    passes++
    next = setImmediate(count)
  })
  t.after(() => clearImmediate(next))
  return () => passes
}

async function startQueue(t: TestContext, concurrency: number): Promise<Queue<number, number>> {
  const storage = new MemoryStorage()
  const worker = new Queue<number, number>({ storage, concurrency })
  worker.execute(async (job) => job.payload + 1)
  await worker.start()
  const producer = new Queue<number, number>({ storage })
  await producer.start()
  t.after(() => Promise.all([producer.stop(), worker.stop()]))
  // The first request subscribes.
  assert.equal(await producer.enqueueAndWait('first', 1), 2)
  await new Promise((resolve) => setImmediate(resolve))
  return producer
}

for (const concurrency of [1, 10]) {
  test(`concurrency ${concurrency}: a request to an idle worker is answered within one pass of the event loop`, async (t) => {
    const queue = await startQueue(t, concurrency)
    const passes = countPasses(t)
    for (let n = 0; n < 5; n++) assert.equal(await queue.enqueueAndWait(`job-${n}`, n), n + 1)
    assert.equal(passes(), 0)
  })

  test(`concurrency ${concurrency}: a loop of requests leaves the event loop a pass in 32 at least`, async (t) => {
    const queue = await startQueue(t, concurrency)
    const passes = countPasses(t)
    for (let n = 0; n < 640; n++) await queue.enqueueAndWait(`job-${n}`, n)
    assert.ok(passes() >= 20, `${passes()} passes`)
  })
}

test('a chain of jobs that add each other leaves the event loop its passes', async (t) => {
  const queue = new Queue<number, number>({ storage: new MemoryStorage(), concurrency: 1, prefetchMs: false })
  const done = Promise.withResolvers<void>()
  queue.execute(async ({ payload }) => {
    if (payload === 640) done.resolve()
    else await queue.enqueue(`job-${payload + 1}`, payload + 1)
    return payload
  })
  await queue.start()
  t.after(() => queue.stop())
  const passes = countPasses(t)
  await queue.enqueue('job-0', 0)
  await done.promise
  assert.ok(passes() >= 20, `${passes()} passes`)
})
