// enqueueMany: any number of jobs, one answer each.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BatchInterruptedError, type EnqueueItem, StorageError } from 'holdfast'
import { bench, countAdds, duplicate, type TestDriver, until } from './driver.ts'
import { reasonOf } from './error-checks.ts'
import { failing, faulty, losingAnswers, stumbling } from './faulty-storage.ts'
import { watched } from './watched.ts'

const items = (count: number): EnqueueItem<number>[] =>
  Array.from({ length: count }, (_, number) => ({ id: `job ${number}`, payload: number }))

const later = 600_000

export function enqueueManyTests(driver: TestDriver): void {
  describe(`${driver.name}: enqueueMany`, () => {
    test('[F3] one answer per item, in order; duplicates in the batch and in the storage count', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<number, number>()
      await queue.enqueue('there', 1, { delayMs: later })
      const told: string[] = []
      queue.on('enqueued', (id) => told.push(id))
      const answers = await queue.enqueueMany([
        { id: 'a', payload: 1 },
        { id: 'there', payload: 2 },
        { id: 'a', payload: 3 },
        { id: 'b', payload: 4, delayMs: later, priority: 5, maxAttempts: 9 },
        { id: 'there', payload: 5, delayMs: later, onDuplicate: 'replace' },
        { id: 'c', payload: 6, deduplication: { key: 'k' } },
        { id: 'd', payload: 7, deduplication: { key: 'k' } },
      ])
      assert.deepEqual(answers, [
        { status: 'queued' },
        duplicate('there', 'scheduled'),
        duplicate('a', 'queued'),
        { status: 'queued' },
        { status: 'replaced', id: 'there', state: 'scheduled' },
        { status: 'queued' },
        duplicate('c', 'queued'),
      ])
      assert.deepEqual(told, ['a', 'b', 'there', 'c'])
      const b = await queue.get('b')
      assert.deepEqual([b?.state, b?.payload, b?.priority, b?.maxAttempts], ['scheduled', 4, 5, 9])
      assert.deepEqual([(await queue.get('a'))?.payload, (await queue.get('there'))?.payload], [1, 5])
      assert.deepEqual(await queue.enqueueMany([]), [])
    })

    test('[F3] they run in the order of the items, each once; a completed id answers with its result', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<number, number>()
      const seen: number[] = []
      queue.execute(({ payload }) => {
        seen.push(payload)
        return payload * 2
      })
      await queue.enqueueMany(items(50))
      await queue.start()
      await until(async () => (await queue.getStatus('job 49'))?.state === 'completed')
      assert.deepEqual(
        seen,
        items(50).map(({ payload }) => payload),
      )
      assert.deepEqual(await queue.enqueueMany(items(2)), [
        { status: 'completed', result: 0 },
        { status: 'completed', result: 2 },
      ])
    })

    test('[F3] moves of at most 1,000', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue<number, number>({ storage: line.storage })
      const answers = await queue.enqueueMany(items(2_001))
      assert.equal(answers.length, 2_001)
      assert.ok(answers.every(({ status }) => status === 'queued'))
      const sizes = line.calls.filter(({ verb }) => verb === 'add').map(({ args }) => (args[0] as unknown[]).length)
      assert.deepEqual(sizes, [1_000, 1_000, 1])
      assert.equal((await storage.count({})).types[0]?.states.queued, 2_001)
    })

    test('[F3] a failure in the middle says how many items are in; the same call again adds the rest', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      for (const [rule, isIn] of [
        [failing(2), false],
        [losingAnswers(2), true],
      ] as const) {
        const line = faulty(storage)
        const queue = newQueue<number, number>({ storage: line.storage, name: `many ${isIn}` })
        queue.on('error', () => {})
        line.on('add', rule)
        const error = await reasonOf(queue.enqueueMany(items(2_500)))
        assert.ok(error instanceof BatchInterruptedError)
        assert.deepEqual([error.code, error.accepted, error.total], ['BATCH_INTERRUPTED', 1_000, 2_500])
        assert.ok(error.cause instanceof StorageError)
        assert.match(error.message, /the first 1000 of 2500 items are stored.*ids deduplicate/)
        assert.equal((await queue.getStatus('job 999'))?.state, 'queued')
        assert.equal(await queue.getStatus('job 2000'), null)
        line.on('add', undefined)
        const again = await queue.enqueueMany(items(2_500))
        const first = again.findIndex(({ status }) => status === 'queued')
        assert.equal(first, isIn ? 2_000 : 1_000)
        assert.ok(again.slice(first).every(({ status }) => status === 'queued'))
      }
    })

    test('[F3] nothing is in if the first move failed: it rejects as enqueue does', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue<number, number>({ storage: line.storage })
      line.on('add', failing(1))
      assert.ok((await reasonOf(queue.enqueueMany(items(3)))) instanceof StorageError)
      assert.equal(await queue.getStatus('job 0'), null)
    })

    test('[F3] a move whose answer was lost is repeated, and answered as the first', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('add', stumbling(1, 'after'))
      const answers = await newQueue<number, number>({ storage: line.storage }).enqueueMany([...items(3), ...items(1)])
      assert.deepEqual(
        answers.map(({ status }) => status),
        ['queued', 'queued', 'queued', 'duplicate'],
      )
      assert.equal(line.count('add'), 2)
    })

    test('[F3] bad input anywhere: nothing is written, and the error names the item', async (t) => {
      const { another, unmoved } = await watched(t, driver)
      const queue = another({ maxPayloadBytes: 100, searchFields: { customer: 'string' } })
      const good = { id: 'good', payload: 1 }
      const bad: readonly [item: unknown, message: RegExp, code?: string][] = [
        [undefined, /^items\[1\]\.id: expected /],
        [null, /^items\[1\] options: expected an object/],
        ['text', /^items\[1\] options: expected an object/],
        [{ payload: 1 }, /^items\[1\]\.id: expected /],
        [{ id: '', payload: 1 }, /^items\[1\]\.id: expected /],
        [{ id: 'a', payload: { run: () => {} } }, /^items\[1\]\.payload\.run: /, 'SERIALIZATION_ERROR'],
        [{ id: 'a', payload: 'x'.repeat(100) }, /^items\[1\]\.payload: it has 102 bytes/, 'TOO_LARGE'],
        [{ id: 'a', payload: 1, delayMs: -1 }, /^items\[1\]\.delayMs: expected /],
        [{ id: 'a', payload: 1, delayMs: 1, runAt: 1 }, /^items\[1\]\.delayMs: expected either/],
        [{ id: 'a', payload: 1, onDuplicate: 'reject' }, /^items\[1\]\.onDuplicate: expected 'return' or 'replace'/],
        [{ id: 'a', payload: 1, prio: 1 }, /^items\[1\] options: expected one of .*, got "prio"$/],
        [{ id: 'a', payload: 1, search: { customer: 5 } }, /^items\[1\]\.search\.customer: expected a string/],
      ]
      await unmoved(async () => {
        for (const [item, message, code = 'INVALID_ARGUMENT'] of bad) {
          const call = queue.enqueueMany([good, item as EnqueueItem<number>, good])
          await assert.rejects(call, { message, code, index: 1 })
        }
        await assert.rejects(queue.enqueueMany('ab' as never), { code: 'INVALID_ARGUMENT', message: /^items: / })
        await assert.rejects(queue.enqueueMany([good], { priority: 1 } as object), { code: 'INVALID_ARGUMENT' })
      })
    })

    test('[F3] with a transaction: all of it, or FEATURE_UNSUPPORTED', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue<number, number>()
      if (!driver.transactions) {
        await assert.rejects(queue.enqueueMany(items(3), { tx: {} }), { code: 'FEATURE_UNSUPPORTED' })
        assert.equal(await queue.getStatus('job 0'), null)
        return
      }
      await queue.start()
      const told: string[] = []
      queue.on('enqueued', (id) => told.push(id))
      const change = new Error('changed my mind')
      const adding = storage.transaction!(async (tx) => {
        await queue.enqueueMany(items(1_500), { tx })
        throw change
      })
      await assert.rejects(adding, change)
      assert.equal(await queue.getStatus('job 0'), null)
      await storage.transaction!(async (tx) => {
        const answers = await queue.enqueueMany(items(1_500), { tx })
        assert.ok(answers.every(({ status }) => status === 'queued'))
      })
      assert.equal((await queue.getStatus('job 1499'))?.state, 'queued')
      assert.deepEqual(told, [])
    })

    test('the payload is encoded inside the call: a change after it has no effect', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const added = countAdds(storage)
      const queue = newQueue<{ n: number }, void>()
      const payload = { n: 1 }
      const adding = queue.enqueueMany([{ id: 'a', payload }])
      payload.n = 2
      await adding
      assert.equal(added(), 1)
      assert.deepEqual((await queue.get('a'))?.payload, { n: 1 })
    })
  })
}
