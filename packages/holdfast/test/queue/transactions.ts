// enqueue, reschedule and runNow in a transaction of the storage.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Storage } from 'holdfast'
import { bench, next, type TestDriver, duplicate } from './driver.ts'

export function transactionTests(driver: TestDriver): void {
  describe(`${driver.name}: in a transaction`, () => {
    test('enqueueAndWait takes none: it would wait for what its own transaction holds back', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const options = { tx: {} } as object
      await assert.rejects(newQueue().enqueueAndWait('a', 1, options), { code: 'INVALID_ARGUMENT' })
    })

    if (driver.transactions) testsWith(driver)
    else testsWithout(driver)
  })
}

function testsWith(driver: TestDriver): void {
  test('the job is there once it commits; no event speaks of it before', async (t) => {
    const { queue: newQueue, storage } = await bench(t, driver)
    const queue = newQueue()
    const told: string[] = []
    queue.on('enqueued', (id) => told.push(id))
    const completed = next(queue, 'completed')
    queue.execute(() => {})
    await queue.start()
    await (storage as Storage<unknown>).transaction!(async (tx) => {
      assert.deepEqual(await queue.enqueue('a', 1, { tx, maxAttempts: 7 }), { status: 'queued' })
      assert.equal(await queue.getStatus('a'), null, 'it is not visible outside')
    })
    assert.deepEqual((await completed)[0], 'a')
    assert.equal((await queue.getStatus('a'))?.maxAttempts, 7)
    assert.deepEqual(told, [])
    assert.deepEqual(await queue.enqueue('a', 1), { status: 'completed', result: undefined })
  })

  test('rolled back, it never was', async (t) => {
    const { queue: newQueue, storage } = await bench(t, driver)
    const queue = newQueue()
    await queue.start()
    const change = new Error('changed my mind')
    await assert.rejects(
      storage.transaction!(async (tx) => {
        await queue.enqueue('a', 1, { tx })
        assert.deepEqual(await queue.enqueue('a', 1, { tx }), duplicate('a', 'queued'))
        throw change
      }),
      change,
    )
    assert.equal(await queue.getStatus('a'), null)
  })

  test('[F1] reschedule and runNow: the job is moved once it commits, and never if it rolls back', async (t) => {
    const { queue: newQueue, storage } = await bench(t, driver)
    const queue = newQueue()
    await queue.enqueue('a', 1, { delayMs: 600_000 })
    const before = await queue.getStatus('a')
    const change = new Error('changed my mind')
    await assert.rejects(
      storage.transaction!(async (tx) => {
        assert.deepEqual(await queue.runNow('a', { tx }), { status: 'rescheduled' })
        throw change
      }),
      change,
    )
    assert.deepEqual(await queue.getStatus('a'), before)
    const runAt = before!.runAt! + 60_000
    await storage.transaction!(async (tx) => {
      assert.deepEqual(await queue.reschedule('a', { runAt, tx }), { status: 'rescheduled' })
      await queue.enqueue('b', 1, { tx })
      assert.deepEqual(await queue.runNow('unknown', { tx }), { status: 'not_found' })
    })
    assert.equal((await queue.getStatus('a'))?.runAt, runAt)
    assert.equal((await queue.getStatus('b'))?.state, 'queued')
  })
}

function testsWithout(driver: TestDriver): void {
  test('a storage without transactions refuses', async (t) => {
    const { queue: newQueue, storage } = await bench(t, driver)
    assert.equal(storage.features.transactions, false)
    const queue = newQueue()
    await assert.rejects(queue.enqueue('a', 1, { tx: {} }), { code: 'FEATURE_UNSUPPORTED' })
    assert.equal(await queue.getStatus('a'), null)
  })

  test('[F1] reschedule and runNow refuse one, too', async (t) => {
    const { queue: newQueue } = await bench(t, driver)
    const queue = newQueue()
    await queue.enqueue('a', 1, { delayMs: 600_000 })
    await assert.rejects(queue.runNow('a', { tx: {} }), { code: 'FEATURE_UNSUPPORTED' })
    await assert.rejects(queue.reschedule('a', { delayMs: 1, tx: {} }), { code: 'FEATURE_UNSUPPORTED' })
    assert.equal((await queue.getStatus('a'))?.state, 'scheduled')
  })
}
