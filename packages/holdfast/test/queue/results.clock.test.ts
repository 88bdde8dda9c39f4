// How long results, errors and ids are kept, to the millisecond.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Queue } from 'holdfast'
import { clockBench } from './clock-bench.ts'

const handler = (job: { readonly payload: unknown }): unknown => {
  if (job.payload === 'bad') throw new Error('never')
  return job.payload
}

describe('results, to the millisecond', () => {
  test('[Q4.04] [Q4.25] [trap 26] result, status and deduplication end at the same instant, swept or not', async (t) => {
    for (const isSwept of [false, true]) {
      const { clock, queue: newQueue, storage } = clockBench(t)
      const queue = newQueue()
      queue.execute(handler)
      await queue.start()
      await queue.enqueue('a', 'first', { resultTTL: 1_000 })
      await clock.settle()
      await queue.stop()
      await clock.advance(999)
      if (isSwept) await storage.sweep({ limit: 100 })
      assert.deepEqual(await queue.enqueue('a', 'second'), { status: 'completed', result: 'first' })
      assert.equal(await queue.getResult('a'), 'first')
      assert.equal((await queue.getStatus('a'))?.expiresAt, clock.now() + 1)
      assert.deepEqual(await queue.cancel('a'), { status: 'completed' })
      await clock.advance(1)
      if (isSwept) assert.equal((await storage.sweep({ limit: 100 })).jobs, 1)
      assert.equal(await queue.getResult('a'), null)
      assert.equal(await queue.getStatus('a'), null)
      assert.deepEqual(await queue.cancel('a'), { status: 'not_found' })
      assert.deepEqual(await queue.updateResultTTL('a', 5_000), { status: 'not_found' })
      assert.deepEqual(await queue.enqueue('a', 'second'), { status: 'queued' })
    }
  })

  test('[Q4.04] at the instant of expiry the id runs anew, with the new payload', async (t) => {
    const { clock, queue: newQueue } = clockBench(t)
    const queue = newQueue()
    const seen: unknown[] = []
    queue.execute((job) => seen.push(job.payload))
    await queue.start()
    await queue.enqueue('a', 'first', { resultTTL: 50 })
    await clock.settle()
    await clock.advance(50)
    const wait = queue.enqueueAndWait('a', 'second', { timeout: 0 })
    await assert.rejects(wait, { code: 'TIMEOUT' })
    await clock.settle()
    assert.deepEqual(seen, ['first', 'second'])
  })

  test('[Q4.05] [Q4.18] errors and cancelled records are kept for the TTL too', async (t) => {
    const { clock, queue: newQueue } = clockBench(t)
    const queue = newQueue({ resultTTL: 700, maxRetries: 1 })
    queue.execute(handler)
    await queue.start()
    await queue.enqueue('failed', 'bad')
    await queue.enqueue('cancelled', 1, { delayMs: 60_000 })
    await queue.cancel('cancelled')
    await clock.settle()
    await clock.advance(699)
    for (const id of ['failed', 'cancelled']) assert.equal((await queue.getStatus(id))?.state, id)
    await clock.advance(1)
    for (const id of ['failed', 'cancelled']) assert.equal(await queue.getStatus(id), null)
  })

  for (const ttlMs of [10, 5_000]) {
    test(`[Q4.26] updateResultTTL: expiry becomes now + ${ttlMs}, whatever it was`, async (t) => {
      const { clock, queue: newQueue } = clockBench(t)
      const queue = newQueue({ resultTTL: 1_000, maxRetries: 1 })
      queue.execute(handler)
      await queue.start()
      await queue.enqueue('completed', 'x')
      await queue.enqueue('failed', 'bad')
      await clock.settle()
      await clock.advance(400)
      for (const id of ['completed', 'failed']) {
        assert.deepEqual(await queue.updateResultTTL(id, ttlMs), { status: 'updated' })
        assert.equal((await queue.getStatus(id))?.expiresAt, clock.now() + ttlMs)
      }
      await clock.advance(ttlMs - 1)
      assert.equal((await queue.getStatus('failed'))?.error?.message, 'never')
      assert.deepEqual(await queue.enqueue('completed', 'y'), { status: 'completed', result: 'x' })
      await clock.advance(1)
      assert.equal(await queue.getStatus('failed'), null)
      assert.equal(await queue.getResult('completed'), null)
      assert.deepEqual(await queue.enqueue('completed', 'y', { delayMs: 1 }), { status: 'queued' })
    })
  }

  test('[Q4.26] the last of several updates counts', async (t) => {
    const { clock, queue: newQueue } = clockBench(t)
    const queue = newQueue()
    queue.execute(handler)
    await queue.start()
    await queue.enqueue('a', 'x')
    await clock.settle()
    for (const ttlMs of [10, 90_000, 20]) await queue.updateResultTTL('a', ttlMs)
    await clock.advance(19)
    assert.equal(await queue.getResult('a'), 'x')
    await clock.advance(1)
    assert.equal(await queue.getResult('a'), null)
  })

  test('[Q4.04] [trap 38] a worker sweeps what is over', async (t) => {
    const { clock, queue: newQueue, line, storage } = clockBench(t)
    const queue = newQueue({ resultTTL: 100, concurrency: 50 })
    queue.execute(handler)
    await queue.start()
    await enqueueMany(queue, 50)
    await clock.settle()
    const { types } = await storage.count({})
    assert.equal(types[0]?.states.completed, 50)
    await clock.advance(65_000)
    assert.deepEqual(await storage.sweep({ limit: 100 }), { jobs: 0, ended: [], marks: 0, entries: 0, more: false })
    assert.equal(line.calls.filter(({ answer }) => (answer as { jobs?: unknown } | undefined)?.jobs === 50).length, 1)
  })

  test('[Q4.01] a delayed job is scheduled until its instant, and starts at it', async (t) => {
    const { clock, queue: newQueue, now, to } = clockBench(t)
    const queue = newQueue()
    const started: [string, number][] = []
    queue.execute((job) => started.push([job.id, now()]))
    await queue.start()
    await queue.enqueue('in 1000', 1, { delayMs: 1_000 })
    await queue.enqueue('at 500', 1, { runAt: clock.now() + 500 })
    await queue.enqueue('at 700.5', 1, { runAt: clock.now() + 700.5 })
    await queue.enqueue('in 30 days', 1, { delayMs: 30 * 86_400_000 })
    await to(999)
    assert.equal((await queue.getStatus('in 1000'))?.state, 'scheduled')
    assert.equal((await queue.getStatus('in 1000'))?.runAt, clock.now() + 1)
    await to(1_000)
    assert.deepEqual(started, [
      ['at 500', 500],
      ['at 700.5', 701],
      ['in 1000', 1_000],
    ])
    await queue.stop()
    assert.equal((await queue.getStatus('in 30 days'))?.state, 'scheduled')
    await to(30 * 86_400_000)
    assert.equal((await queue.getStatus('in 30 days'))?.state, 'queued')
  })
})

async function enqueueMany(queue: Queue<unknown, unknown>, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => queue.enqueue(`job ${index}`, index)))
}
