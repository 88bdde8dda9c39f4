// What a Queue and a Reaper refuse to be made with, and execute(): they throw, and nothing is called, emitted or written.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryStorage, Queue, type QueueConfig, Reaper, type ReaperConfig, type Storage } from 'holdfast'
import type { TestDriver } from './driver.ts'
import { throwsInput, watched } from './watched.ts'

const noIntegers = [1.5, NaN, Infinity, -Infinity, '5', null, true, 5n, [5], {}]
const noNumbers = [NaN, Infinity, -Infinity, '5', null, true, 5n]
const noObjects = [null, 5, 'text', true, [], () => {}]
const noTexts = [5, null, {}, [], '', 'x'.repeat(257), `${'é'.repeat(128)}x`, 'a\0b', 'a\uD83D']

const verbs =
  'connect disconnect clear add claim extend settle recover cancel revive remove pause sweep get list count nextDueAt listen'

/** Values that each option refuses, and some that it takes. */
const queueValues: readonly [name: keyof QueueConfig<unknown>, row: string, bad: unknown[], good: unknown[]][] = [
  ['name', 'Q5.04', noTexts, ['x'.repeat(256), 'é'.repeat(128), ' ', '../../x']],
  ['workerId', 'Q5.04', noTexts, ['x'.repeat(256), 'host:1', '../w']],
  ['resultTTL', 'Q5.07', [0, -1, 100 * 365 * 86_400_000 + 1, ...noIntegers], [1, 100 * 365 * 86_400_000]],
  ['maxRetries', 'Q5.08', [0, -1, ...noIntegers], [1, 1_000_000]],
  ['concurrency', 'Q5.08', [0, -1, 10_001, ...noIntegers], [1, 10_000]],
  ['visibilityTimeout', 'Q5.09', [0, -1, ...noIntegers], [1, 30 * 86_400_000]],
  ['leaseMs', 'Q5.09', [49, 0, -1, 50.5, ...noIntegers], [50]],
  ['blockTimeout', 'Q5.09', [0, -1, ...noNumbers], [0.004, 60]],
  ['processingQueueTTL', 'Q5.09', [999, 0, -1, ...noIntegers], [1_000]],
  ['maxPayloadBytes', 'Q5.06', [0, -1, ...noIntegers], [1]],
  ['maxResultBytes', 'Q5.06', [0, -1, ...noIntegers], [1]],
  ['payloadSerde', 'Q5.12', [...noObjects, {}, { serialize() {} }, { deserialize() {} }], [serde()]],
  ['resultSerde', 'Q5.12', [...noObjects, {}, { serialize() {} }, { deserialize() {} }], [serde()]],
  ['afterExecution', 'Q5.12', [null, 5, 'hook', {}], [() => {}]],
  ['logger', 'Q5.12', [null, 5, 'log', { error: 'no function' }, { debug: 1 }], [{}, console, { warn() {} }]],
  ['clock', 'Q5.12', [null, 5, {}, { now: () => 0, monotonic: () => 0, after: () => 0 }], []],
]

const badBackoffs: readonly (readonly [argument: string, backoff: unknown])[] = [
  ...[null, 5, 'linear', '', true, [], {}, { type: 'none' }, { delayMs: 5 }].map(
    (value) => ['backoff', value] as const,
  ),
  ...[undefined, -1, ...noNumbers].map((delayMs) => ['delayMs', { type: 'fixed', delayMs }] as const),
  ...[-1, ...noNumbers].map((delayMs) => ['delayMs', { type: 'exponential', delayMs }] as const),
  ...[-1, ...noNumbers].map((maxDelayMs) => ['maxDelayMs', { type: 'exponential', maxDelayMs }] as const),
  ...[0.9, 0, -1, ...noNumbers].map((factor) => ['factor', { type: 'exponential', factor }] as const),
  ...[-0.1, 1.1, ...noNumbers].map((jitter) => ['jitter', { type: 'exponential', jitter }] as const),
]

const goodBackoffs = [
  'none',
  'exponential',
  () => 0,
  { type: 'fixed', delayMs: 0 },
  { type: 'exponential' },
  { type: 'exponential', delayMs: 0, factor: 1, maxDelayMs: 0, jitter: 0 },
  { type: 'exponential', jitter: 1 },
]

const reaperValues: readonly [name: keyof ReaperConfig, row: string, bad: unknown[], good: unknown[]][] = [
  ['name', 'Q5.04', [...noTexts.slice(1), [5], ['a', '']], [['a'], ['a', 'é'.repeat(128)]]],
  ['visibilityTimeout', 'Q5.09', [0, -1, ...noIntegers], [1]],
  ['checkInterval', 'Q5.09', [0, -1, ...noIntegers], [1]],
  ['leaderElection', 'Q5.12', noObjects, [{ enabled: false }, { enabled: true, lockTTL: 30, renewalInterval: 29 }]],
  ['logger', 'Q5.12', [null, 5, { error: 'no function' }], [{}]],
]

const badElections: readonly (readonly [argument: string, value: object])[] = [
  ...[1, 'yes', null].map((enabled) => ['enabled', { enabled }] as const),
  ...[0, -1, ...noIntegers].map((lockTTL) => ['lockTTL', { enabled: true, lockTTL }] as const),
  ...[0, ...noIntegers].map((renewalInterval) => ['renewalInterval', { enabled: true, renewalInterval }] as const),
  ...[0, ...noIntegers].map(
    (value) => ['acquireRetryInterval', { enabled: true, acquireRetryInterval: value }] as const,
  ),
  ['renewalInterval', { enabled: true, lockTTL: 100, renewalInterval: 100 }],
  ['renewalInterval', { enabled: true, lockTTL: 100, renewalInterval: 101 }],
  ['renewalInterval', { enabled: true, renewalInterval: 30_000 }],
]

export function inputConfigTests(driver: TestDriver): void {
  describe(`${driver.name}: bad configuration`, () => {
    for (const [name, row, bad, good] of queueValues) {
      test(`[${row}] [trap 18] a Queue refuses what is no ${name}`, async (t) => {
        const { storage, unmoved } = await watched(t, driver)
        await unmoved(() => {
          for (const value of bad) throwsInput(name, value, () => new Queue({ storage, [name]: value }))
          for (const value of good) assert.ok(new Queue({ storage, [name]: value }))
        })
      })
    }

    for (const [name, row, bad, good] of reaperValues) {
      test(`[${row}] [trap 18] a Reaper refuses what is no ${name}`, async (t) => {
        const { storage, unmoved } = await watched(t, driver)
        await unmoved(() => {
          for (const value of bad) throwsInput(name, value, () => new Reaper({ storage, [name]: value }))
          for (const value of good) assert.ok(new Reaper({ storage, [name]: value }))
        })
      })
    }

    test('[Q5.12] [trap 18] a Queue refuses what is no backoff', async (t) => {
      const { storage, unmoved } = await watched(t, driver)
      await unmoved(() => {
        for (const [argument, value] of badBackoffs) {
          throwsInput(argument, value, () => new Queue({ storage, backoff: value as 'none' }))
        }
        for (const value of goodBackoffs) assert.ok(new Queue({ storage, backoff: value as 'none' }))
      })
    })

    test('[Q5.12] [trap 18] a Reaper refuses an election that cannot be held', async (t) => {
      const { storage, unmoved } = await watched(t, driver)
      await unmoved(() => {
        for (const [argument, value] of badElections) {
          const leaderElection = value as { enabled: boolean }
          throwsInput(argument, value, () => new Reaper({ storage, leaderElection }))
        }
      })
    })

    test('[Q5.12] [trap 18] a Queue and a Reaper refuse what is no storage', async (t) => {
      const { storage, unmoved } = await watched(t, driver)
      const having = (key: keyof Storage, value: unknown): Storage =>
        new Proxy(storage, { get: (target, asked) => (asked === key ? value : Reflect.get(target, asked)) })
      await unmoved(() => {
        for (const value of [undefined, null, 5, 'redis', {}, [], () => {}, MemoryStorage]) {
          throwsInput('storage', value, () => new Queue({ storage: value as Storage }))
          throwsInput('storage', value, () => new Reaper({ storage: value as Storage }))
        }
        for (const verb of verbs.split(' ') as (keyof Storage)[]) {
          throwsInput('storage', `without ${verb}`, () => new Queue({ storage: having(verb, undefined) }))
          throwsInput('storage', `without ${verb}`, () => new Reaper({ storage: having(verb, undefined) }))
        }
        for (const [argument, value] of [
          ['kv', having('kv', undefined)],
          ['kv', having('kv', { get: async () => undefined })],
          ['settings', having('settings', undefined)],
          ['callTimeoutMs', having('settings', {})],
        ] as const) {
          throwsInput(argument, value, () => new Queue({ storage: value }))
          throwsInput(argument, value, () => new Reaper({ storage: value }))
        }
      })
    })

    test('[Q5.12] [trap 18] execute refuses what is no function, and takes one afterwards', async (t) => {
      const { queue, unmoved } = await watched(t, driver)
      await unmoved(() => {
        for (const handler of [undefined, null, 5, 'handler', {}, { execute() {} }]) {
          throwsInput('handler', handler, () => queue.execute(handler as () => void))
        }
      })
      queue.execute(() => 'done')
      await queue.start()
      assert.equal(await queue.enqueueAndWait('new', 1), 'done')
    })

    test('[Q5.12] [trap 18] a second handler is refused, and the first stays', async (t) => {
      const { queue } = await watched(t, driver)
      queue.execute(() => 'first')
      assert.throws(() => queue.execute(() => 'second'), { name: 'HoldfastError', code: 'HANDLER_ALREADY_SET' })
      await queue.start()
      assert.throws(() => queue.execute(() => 'third'), { code: 'HANDLER_ALREADY_SET' })
      assert.equal(await queue.enqueueAndWait('new', 1), 'first')
      await queue.stop()
      assert.throws(() => queue.execute(() => 'fourth'), { code: 'HANDLER_ALREADY_SET' })
    })
  })
}

function serde(): unknown {
  return { serialize: () => Buffer.alloc(0), deserialize: () => 0 }
}
