// Tasks over queues and stores of Fedify, which take Temporal.Duration; and retry policies of Fedify on a queue of this package.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import {
  createExponentialBackoffPolicy,
  InProcessMessageQueue,
  type KvStore,
  MemoryKvStore,
  type MessageQueue,
  type RetryContext,
} from '@fedify/fedify'
import { fedifyKv, fedifyQueue, HoldfastKvStore, HoldfastMessageQueue, type TemporalNamespace } from '@holdfast/fedify'
import { Temporal as Polyfill } from '@js-temporal/polyfill'
import { MemoryStorage } from 'holdfast'
import { createTasks } from 'holdfast/tasks'
import { anything } from '../../holdfast/test/tasks/fakes.ts'
import { until } from '../../holdfast/test/queue/driver.ts'

const temporal = Polyfill as unknown as TemporalNamespace

/** Without it, or with that of the polyfill, for one test. */
function withTemporal(t: TestContext, value: unknown): void {
  const own = Object.getOwnPropertyDescriptor(globalThis, 'Temporal')
  Object.defineProperty(globalThis, 'Temporal', { value, configurable: true, writable: true })
  t.after(() => {
    if (own) Object.defineProperty(globalThis, 'Temporal', own)
    else Reflect.deleteProperty(globalThis, 'Temporal')
  })
}

const quick = (): MessageQueue => new InProcessMessageQueue({ pollInterval: { milliseconds: 10 } })

/** Runs a task with a delay, a deduplication key and a retry: everything that passes a duration. */
async function runsOver(
  queue: Parameters<typeof createTasks>[0]['queue'],
  kv: Parameters<typeof createTasks>[0]['kv'],
) {
  const tasks = createTasks({ queue, kv, backoff: { type: 'fixed', delayMs: 5 }, logger: {} })
  const runs: number[] = []
  const task = tasks.defineTask('t', {
    schema: anything<string>(),
    handler: ({ attempt }) => {
      runs.push(attempt)
      if (attempt === 1) throw new Error('again')
    },
  })
  await tasks.start()
  const options = { delayMs: 5, deduplicationKey: 'k' }
  const results = [await tasks.enqueueTask(task, 'x', options), await tasks.enqueueTask(task, 'x', options)]
  assert.deepEqual(
    results.map(({ status }) => status),
    ['enqueued', 'duplicate'],
  )
  await until(() => runs.length === 2, 'it runs twice')
  await tasks.stop()
  assert.deepEqual(runs, [1, 2])
}

test('tasks over InProcessMessageQueue and MemoryKvStore of Fedify: delays, TTLs and retries are Temporal.Duration', async (t) => {
  if (!('Temporal' in globalThis)) withTemporal(t, Polyfill)
  await runsOver(quick(), new MemoryKvStore())
})

test('fedifyQueue and fedifyKv make durations with the Temporal that they are given', async (t) => {
  withTemporal(t, undefined)
  await runsOver(fedifyQueue(quick(), { temporal }), fedifyKv(new MemoryKvStore() as KvStore, { temporal }))
})

/** The error names the option, and the wrapper to use. */
const refused = (name: string, wrapper: string) => ({
  code: 'INVALID_ARGUMENT',
  message: new RegExp(`^${name}: .*Temporal\\.Duration.*${wrapper}.*@js-temporal/polyfill`),
})

test('without Temporal, queues and stores of Fedify are refused at creation, and the error says what to do', (t) => {
  withTemporal(t, undefined)
  assert.throws(() => createTasks({ queue: quick() }), refused('queue.task', 'fedifyQueue'))
  assert.throws(() => createTasks({ queue: { fallback: quick() } }), refused('queue.fallback', 'fedifyQueue'))
  assert.throws(() => createTasks({ kv: new MemoryKvStore() }), refused('kv', 'fedifyKv'))
  const tasks = createTasks({ storage: new MemoryStorage() })
  const options = { schema: anything(), handler: () => {}, queue: quick() }
  assert.throws(() => tasks.defineTask('t', options), refused('queue', 'fedifyQueue'))
  assert.throws(() => fedifyQueue(quick()), { code: 'INVALID_ARGUMENT', message: /temporal: Temporal/ })
  assert.throws(() => fedifyKv(new MemoryKvStore()), { code: 'INVALID_ARGUMENT' })
})

async function failedAfter(options: ConstructorParameters<typeof HoldfastMessageQueue>[1]): Promise<number> {
  const queue = new HoldfastMessageQueue(new MemoryStorage(), { logger: {}, ...options })
  const stop = new AbortController()
  let runs = 0
  const listening = queue.listen(
    () => {
      runs++
      throw new Error('always')
    },
    { signal: stop.signal },
  )
  await queue.enqueue({ id: '1' })
  await until(async () => (await queue.counts()).states.failed === 1, 'it fails')
  stop.abort()
  await listening
  await queue.close()
  return runs
}

test('a retry policy of Fedify decides: its attempts begin at 0, its elapsed time is a Temporal.Duration', async () => {
  const policy = createExponentialBackoffPolicy({
    initialDelay: { milliseconds: 1 } as never,
    maxAttempts: 3,
  })
  // Fedify asks before the retry number `attempts`: three retries after the first run.
  assert.equal(await failedAfter({ retryPolicy: policy }), 4)
  const contexts: RetryContext[] = []
  const elapsed: number[] = []
  const runs = await failedAfter({
    temporal,
    retryPolicy: (context: RetryContext) => {
      contexts.push(context)
      elapsed.push(context.elapsedTime.total('milliseconds'))
      return context.attempts < 2 ? context.elapsedTime : null
    },
  })
  assert.equal(runs, 3)
  assert.deepEqual(
    contexts.map(({ attempts }) => attempts),
    [0, 1, 2],
  )
  assert.ok(elapsed.every((ms) => ms >= 0))
})

test('a retry policy beside maxAttempts is refused, and so is one that is no function', () => {
  const storage = new MemoryStorage()
  const retryPolicy = createExponentialBackoffPolicy()
  assert.throws(() => new HoldfastMessageQueue(storage, { retryPolicy, maxAttempts: 2 }), { code: 'INVALID_ARGUMENT' })
  assert.throws(() => new HoldfastMessageQueue(storage, { retryPolicy: 'often' as never }), {
    code: 'INVALID_ARGUMENT',
  })
})

test('HoldfastKvStore refuses what would not come back, with its path, and keeps the entry as it was', async (t) => {
  const store = new HoldfastKvStore(new MemoryStorage())
  t.after(() => store.close())
  await store.set(['k'], new Map([['a', 1n]]))
  for (const [value, path] of [
    [{ a: { b: undefined } }, 'value.a.b'],
    [[1, () => {}], 'value[1]'],
    [{ at: Polyfill.Duration.from('PT1S') }, 'value.at'],
    [{ key: Symbol('s') }, 'value.key'],
  ] as const) {
    await assert.rejects(store.set(['k'], value), { code: 'SERIALIZATION_ERROR', path })
    await assert.rejects(store.cas(['k'], undefined, value), { code: 'SERIALIZATION_ERROR', path })
  }
  assert.deepEqual(await store.get(['k']), new Map([['a', 1n]]))
})
