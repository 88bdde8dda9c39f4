// What the methods of a Queue refuse: they reject, and nothing is called, emitted or written.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type EnqueueAndWaitOptions, type Queue, type Serde, SerializationError } from 'holdfast'
import type { TestDriver } from './driver.ts'
import { rejectsInput, watched } from './watched.ts'

class Point {
  readonly x = 1
}

/** Each method that takes an id, with that id. */
const withId: Record<string, (queue: Queue<unknown, unknown>, id: string) => unknown> = {
  enqueue: (queue, id) => queue.enqueue(id, 1),
  enqueueAndWait: (queue, id) => queue.enqueueAndWait(id, 1),
  cancel: (queue, id) => queue.cancel(id),
  'cancel, abort': (queue, id) => queue.cancel(id, { abort: true }),
  getResult: (queue, id) => queue.getResult(id),
  getStatus: (queue, id) => queue.getStatus(id),
  reschedule: (queue, id) => queue.reschedule(id, { delayMs: 1 }),
  runNow: (queue, id) => queue.runNow(id),
  get: (queue, id) => queue.get(id),
  logs: (queue, id) => queue.logs(id),
  updateResultTTL: (queue, id) => queue.updateResultTTL(id, 1_000),
}

/** Both methods that take the options of enqueue. */
async function rejectsOption(
  queue: Queue<unknown, unknown>,
  name: keyof EnqueueAndWaitOptions,
  value: unknown,
): Promise<void> {
  await rejectsInput(name, value, () => queue.enqueue('new', 1, { [name]: value }))
  await rejectsInput(name, value, () => queue.enqueueAndWait('new', 1, { [name]: value }))
}

const noIntegers = [1.5, NaN, Infinity, -Infinity, '5', null, true, 5n, [5], {}]
const hundredYears = 100 * 365 * 86_400_000

/** Each with whether its cause is an error. */
const badPayloads: readonly [what: string, payload: unknown, payloadSerde?: Serde<unknown>][] = [
  ['a cycle', cycle()],
  ['a class instance', new Point()],
  ['a function inside', { n: [() => {}] }],
  ['a function', () => {}],
  ['a symbol', Symbol('s')],
  ['an object whose toJSON throws', { toJSON: thrower(new Error('no')) }],
  ['what the serde throws on', 1, serde(thrower(new Error('no')))],
  ['what the serde throws undefined on', 1, serde(thrower(undefined))],
  ['what the serde makes a string of', 1, serde(() => '1')],
  ['what the serde makes nothing of', 1, serde(() => undefined)],
  ['what the serde makes an ArrayBuffer of', 1, serde(() => new ArrayBuffer(1))],
  ['what the serde promises', 1, serde(async () => Buffer.from('1'))],
]

const badIds = [
  undefined,
  null,
  42,
  { toString: () => 'id' },
  Object('id'),
  Symbol('id'),
  ['id'],
  () => 'id',
  '',
  'x'.repeat(513),
  // 513 bytes in 257 characters.
  `${'é'.repeat(256)}x`,
  'x'.repeat(10_000),
  '\0',
  'a\0b',
  'a\uD83D',
  '\uD83Db',
  '\uDE00\uD83D',
] as unknown[]

export function inputTests(driver: TestDriver): void {
  describe(`${driver.name}: bad input to methods`, () => {
    for (const [method, call] of Object.entries(withId)) {
      test(`[Q5.01] [trap 18] ${method} refuses what is no id`, async (t) => {
        const { queue, unmoved } = await watched(t, driver)
        const refuse = async (): Promise<void> => {
          for (const id of badIds) await rejectsInput('id', id, () => call(queue, id as string))
        }
        await unmoved(refuse)
        await queue.start()
        await unmoved(refuse)
      })
    }

    for (const [what, payload, payloadSerde] of badPayloads) {
      test(`[Q5.05] [trap 18] a payload that is ${what} is a SerializationError`, async (t) => {
        const { another, unmoved } = await watched(t, driver)
        const queue = another({ payloadSerde })
        await unmoved(async () => {
          for (const method of ['enqueue', 'enqueueAndWait'] as const) {
            await assert.rejects(queue[method]('new', payload), (error) => {
              assert.ok(error instanceof SerializationError)
              assert.equal(error.code, 'SERIALIZATION_ERROR')
              assert.equal(error.what, 'payload')
              assert.equal(error.cause instanceof Error, !what.includes('undefined'))
              return true
            })
          }
        })
      })
    }

    test('[Q5.06] [trap 18] a payload over maxPayloadBytes is refused with its size and the limit, in bytes', async (t) => {
      const { another, unmoved } = await watched(t, driver)
      const queue = another({ maxPayloadBytes: 10 })
      const tooLarge = { name: 'HoldfastError', code: 'TOO_LARGE', limit: 10, size: 12 }
      await unmoved(async () => {
        await assert.rejects(queue.enqueue('new', 'ééééé'), tooLarge)
        await assert.rejects(queue.enqueueAndWait('new', 'ééééé'), tooLarge)
      })
      assert.deepEqual(await queue.enqueue('new', 'éééé'), { status: 'queued' })
    })

    test('[Q5.06] the limit is 16 MiB if nothing is said', async (t) => {
      const { queue, unmoved } = await watched(t, driver)
      // Two quotes belong to it.
      const longest = 'x'.repeat(16_777_214)
      await unmoved(() => assert.rejects(queue.enqueue('new', `${longest}x`), { code: 'TOO_LARGE', size: 16_777_217 }))
      assert.deepEqual(await queue.enqueue('new', longest), { status: 'queued' })
    })

    test('[Q5.07] [trap 18] enqueue, enqueueAndWait and updateResultTTL refuse what is no TTL', async (t) => {
      const { queue, unmoved } = await watched(t, driver)
      await unmoved(async () => {
        for (const ttl of [0, -1, hundredYears + 1, ...noIntegers]) {
          await rejectsOption(queue, 'resultTTL', ttl)
          // Checked first, whatever the id is.
          for (const id of ['there', 'over', 'unknown', '']) {
            await rejectsInput('ttlMs', ttl, () => queue.updateResultTTL(id, ttl as number))
          }
        }
        await rejectsInput('ttlMs', undefined, () => queue.updateResultTTL('over', undefined as never))
      })
    })

    test('[Q5.07] 1 ms and 100 years are TTLs', async (t) => {
      const { queue } = await watched(t, driver)
      assert.deepEqual(await queue.enqueue('short', 1, { resultTTL: 1 }), { status: 'queued' })
      assert.deepEqual(await queue.enqueue('long', 1, { resultTTL: hundredYears }), { status: 'queued' })
      assert.deepEqual(await queue.updateResultTTL('over', hundredYears), { status: 'updated' })
      assert.deepEqual(await queue.updateResultTTL('over', 1), { status: 'updated' })
    })

    test('[Q5.08] [trap 18] enqueue and enqueueAndWait refuse what is no maxAttempts', async (t) => {
      const { queue, unmoved } = await watched(t, driver)
      await unmoved(async () => {
        for (const maxAttempts of [0, -1, ...noIntegers]) await rejectsOption(queue, 'maxAttempts', maxAttempts)
      })
      assert.deepEqual(await queue.enqueue('new', 1, { maxAttempts: 1 }), { status: 'queued' })
    })

    test('[Q5.10] [trap 18] enqueueAndWait and stop refuse what is no timeout', async (t) => {
      const { queue, unmoved } = await watched(t, driver)
      await queue.start()
      await unmoved(async () => {
        for (const timeout of [-1, 1.5, NaN, -Infinity, '5', null, 5n]) {
          await rejectsInput('timeout', timeout, () => queue.enqueueAndWait('new', 1, { timeout: timeout as number }))
          await rejectsInput('timeout', timeout, () => queue.stop({ timeout: timeout as number }))
        }
        await rejectsInput('timeout', Infinity, () => queue.stop({ timeout: Infinity }))
      })
      assert.deepEqual(await queue.enqueue('new', 1), { status: 'queued' })
    })

    test('[Q5.10] Infinity is a timeout of a wait', async (t) => {
      const { queue } = await watched(t, driver)
      await queue.start()
      const ended = assert.rejects(queue.enqueueAndWait('new', 1, { timeout: Infinity }), { code: 'QUEUE_STOPPED' })
      await queue.stop({ timeout: 0 })
      await ended
    })

    test('[Q5.10] [trap 18] enqueue and enqueueAndWait refuse what is no delayMs or runAt, and both together', async (t) => {
      const { queue, unmoved } = await watched(t, driver)
      await unmoved(async () => {
        for (const delayMs of [-1, ...noIntegers]) await rejectsOption(queue, 'delayMs', delayMs)
        for (const runAt of [new Date(NaN), NaN, Infinity, 8.64e15 + 1, '2030-01-01', null, {}, 5n]) {
          await rejectsOption(queue, 'runAt', runAt)
        }
        for (const runAt of [0, Date.now(), new Date()]) {
          await rejectsInput('delayMs', runAt, () => queue.enqueue('new', 1, { delayMs: 0, runAt }))
          await rejectsInput('delayMs', runAt, () => queue.enqueueAndWait('new', 1, { delayMs: 0, runAt }))
        }
      })
    })

    test('[Q5.10] a runAt in the past is simply due, and delayMs 0 is now', async (t) => {
      const { queue } = await watched(t, driver)
      for (const options of [{ runAt: 0 }, { runAt: new Date(0) }, { runAt: -8.64e15 }, { delayMs: 0 }]) {
        const id = JSON.stringify(options)
        assert.deepEqual(await queue.enqueue(id, 1, options), { status: 'queued' })
        assert.equal((await queue.getStatus(id))?.state, 'queued')
      }
    })
  })
}

function cycle(): unknown {
  const object: Record<string, unknown> = {}
  object.inside = { object }
  return object
}

function thrower(value: unknown): () => never {
  return () => {
    throw value
  }
}

function serde(serialize: () => unknown): Serde<unknown> {
  return { serialize: serialize as () => Uint8Array, deserialize: () => 0 }
}
