// Random commands against a queue and a store, each compared with a small model: an accepted message runs as often as it must, in
// the order of its key; the store answers as a Map does.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { type KvKey, StorageKvStore, StorageMessageQueue } from 'holdfast/tasks'
import { listOf } from '../../../conformance/src/message-queue/queue-case.ts'
import { sizeOf } from '../full-size.ts'
import { until } from '../queue/driver.ts'
import type { ProcessDriver } from '../processes/drivers.ts'

const sendCommand = fc.record({
  orderingKey: fc.option(fc.constantFrom('o', 'p'), { nil: undefined }),
  deduplicationKey: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }),
  delay: fc.constantFrom(0, 0, 3),
  /** Runs that fail. 3: it fails for good. */
  failures: fc.constantFrom(0, 0, 1, 2, 3),
  size: fc.constantFrom(1, 1, 1, 2, 3),
})

const keys: readonly KvKey[] = [['a'], ['a', 'b'], ['a/b'], ['']]
const values: readonly unknown[] = [undefined, null, 0, '', { a: 1, b: [] }, { b: [], a: 1 }]
const storeCommand = fc.record({
  verb: fc.constantFrom('get', 'set', 'setIfAbsent', 'cas', 'cas', 'delete', 'list'),
  key: fc.nat({ max: keys.length - 1 }),
  expected: fc.nat({ max: values.length - 1 }),
  next: fc.nat({ max: values.length - 1 }),
})

/** Equal for equal structures. The only objects are those two. */
const text = (value: unknown): string | undefined =>
  value !== null && typeof value === 'object' ? '{"a":1,"b":[]}' : JSON.stringify(value)

export function modelTests(driver: ProcessDriver): void {
  const numRuns = sizeOf(25, driver.name, { memory: 25, postgres: 6, else: 15 })

  test(`[Q2] random enqueues on ${driver.name}: each accepted message runs as often as it must, and no other runs`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sendCommand, { minLength: 1, maxLength: 25 }), async (commands) => {
        const place = await driver.open()
        const options = { retryPolicy: ({ attempt }: { attempt: number }) => (attempt < 3 ? 1 : null) }
        const queue = new StorageMessageQueue(place.storage(), options)
        const runs = new Map<number, number>()
        const ended: { number: number; orderingKey?: string }[] = []
        const running = new Set<string>()
        // Kept, not thrown: the queue would retry the message.
        const problems: string[] = []
        const stop = new AbortController()
        const listening = queue.listen(
          async ({ number, failures }: { number: number; failures: number }, delivery) => {
            const { orderingKey } = delivery!
            if (orderingKey && running.has(orderingKey)) problems.push('two of one key at once')
            if (orderingKey) running.add(orderingKey)
            await Promise.resolve()
            if (orderingKey) running.delete(orderingKey)
            const run = (runs.get(number) ?? 0) + 1
            runs.set(number, run)
            if (delivery!.attempt !== run) problems.push(`run ${run} was called attempt ${delivery!.attempt}`)
            if (run > failures || run === 3) ended.push({ number, orderingKey })
            if (run <= failures) throw new Error('as commanded')
          },
          { signal: stop.signal },
        )
        const accepted: { number: number; failures: number; orderingKey: string | undefined }[] = []
        // The keys of batches, and of messages that do not fail for good, are taken for the window.
        const taken = new Set<string>()
        const unsure = new Set<string>()
        let number = 0
        for (const { failures, size, ...given } of commands) {
          const messages = Array.from({ length: size }, () => ({ number: ++number, failures }))
          const { status } =
            size === 1 ? await queue.enqueue(messages[0], given) : await queue.enqueueMany(messages, given)
          const { deduplicationKey: key, orderingKey } = given
          if (key !== undefined && !unsure.has(key)) {
            assert.equal(status, taken.has(key) ? 'duplicate' : 'enqueued')
          }
          if (status === 'enqueued') accepted.push(...messages.map((message) => ({ ...message, orderingKey })))
          // A message that fails for good frees its key, at an unknown time.
          if (key !== undefined && status === 'enqueued') (size === 1 && failures === 3 ? unsure : taken).add(key)
        }
        try {
          await until(() => ended.length >= accepted.length, 'all end')
        } finally {
          stop.abort()
          await listening
        }
        assert.deepEqual(problems, [])
        for (const { number: one, failures } of accepted) assert.equal(runs.get(one), Math.min(failures + 1, 3))
        assert.equal(runs.size, accepted.length)
        for (const key of ['o', 'p']) {
          assert.deepEqual(
            ended.flatMap((one) => (one.orderingKey === key ? [one.number] : [])),
            accepted.flatMap((one) => (one.orderingKey === key ? [one.number] : [])),
          )
        }
        const failed = accepted.filter(({ failures }) => failures === 3).length
        assert.equal((await listOf(queue.failed())).length, failed)
        assert.deepEqual(await queue.getDepth(), { queued: 0, ready: 0, delayed: 0 })
        await queue.close()
        await place.close()
      }),
      { numRuns },
    )
  })

  test(`[Q2] random commands to a store on ${driver.name} are answered as a Map answers them`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(storeCommand, { minLength: 1, maxLength: 40 }), async (commands) => {
        const place = await driver.open()
        const store = new StorageKvStore(place.storage())
        const model = new Map<string, unknown>()
        for (const { verb, key: index, expected, next } of commands) {
          const key = keys[index]!
          const name = JSON.stringify(key)
          const [from, to] = [values[expected], values[next]]
          const write = (): void => void (to === undefined ? model.delete(name) : model.set(name, to))
          if (verb === 'get') {
            assert.equal(text(await store.get(key)), text(model.get(name)))
          } else if (verb === 'set') {
            await store.set(key, to)
            write()
          } else if (verb === 'delete') {
            await store.delete(key)
            model.delete(name)
          } else if (verb === 'list') {
            const found = (await listOf(store.list(key))).map((entry) => JSON.stringify(entry.key))
            const fits = [...model.keys()].filter((one) =>
              key.every((part, at) => (JSON.parse(one) as KvKey)[at] === part),
            )
            assert.deepEqual(found.toSorted(), fits.toSorted())
          } else {
            const holds = text(model.get(name)) === text(verb === 'cas' ? from : undefined)
            const answer = verb === 'cas' ? await store.cas(key, from, to) : await store.setIfAbsent(key, to)
            assert.equal(answer, holds, verb)
            if (holds) write()
          }
        }
        await store.close()
        await place.close()
      }),
      { numRuns },
    )
  })
}
