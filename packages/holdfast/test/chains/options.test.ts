// The options of a client and a worker: what is refused, aliases, and how they are merged.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes, type LogEntry } from 'holdfast/chains'
import * as v from 'valibot'
import { resolveStop, resolveWorkerOptions } from '../../src/chains/worker/worker-config.ts'

const types = defineJobTypes<{ step: { entry: true; input: null; output: null } }>()
const storage = new MemoryStorage()
const process = async ({ complete }: { complete: (output: null) => Promise<never> }): Promise<never> => complete(null)
const given = { storage, jobTypeRegistry: types, jobTypeProcessors: { step: { process } } } as const

const invalid = (message: RegExp) => ({ name: 'TypeError', code: 'INVALID_ARGUMENT', message })

test('a client refuses unknown options and impossible values', async () => {
  const wrong: [RegExp, object][] = [
    [/^createClient options: .*did you mean retention/, { retentoin: {} }],
    [/^storage: expected a Storage/, { storage: {} }],
    [/^storage: expected a Storage/, { storage: undefined }],
    [/^jobTypeRegistry: expected a registry/, { jobTypeRegistry: {} }],
    [/^notifier: expected a Notifier/, { notifier: { notify() {} } }],
    [/^log: expected a function/, { log: console }],
    [/^retention options: .*got "complete"/, { retention: { complete: { ageMs: 1 } } }],
    [
      /^retention.failed.ageMs: expected an integer >= 0, or Infinity, got -1/,
      { retention: { failed: { ageMs: -1 } } },
    ],
    [/^retention.failed.ageMs: expected/, { retention: { failed: {} } }],
    [/^logger.warn: expected a function/, { logger: { warn: true } }],
  ]
  for (const [message, options] of wrong) {
    await assert.rejects(createClient({ storage, jobTypeRegistry: types, ...options } as never), invalid(message))
  }
})

const both = (word: string, alias: string) =>
  invalid(new RegExp(`options: expected either ${word} or its alias ${alias}, got`))

const processing = (options: object) => ({ jobTypeProcessing: options })
const processor = (options: object) => ({ jobTypeProcessors: { step: { process, ...options } } })

/** The type of a worker with these options, whose processor has those. */
const resolvedType = (worker: object, type: object) =>
  resolveWorkerOptions({ ...given, ...worker, ...processor(type) } as never).types[0]!

function renewals(worker: object, type: object): unknown[] {
  const { leaseMs, renewIntervalMs } = resolvedType(worker, type)
  return [leaseMs, renewIntervalMs]
}

const backoffOf = (worker: object, type: object): unknown => resolvedType(worker, type).backoff

test('a worker refuses unknown options and impossible values', async () => {
  const wrong: [RegExp, object][] = [
    [/^createInProcessWorker options: .*did you mean concurrency/, { concurency: 1 }],
    [/^concurrency: expected an integer/, { concurrency: 0 }],
    [/^workerId: expected/, { workerId: '' }],
    [/^jobTypeProcessors: expected at least one job type/, { jobTypeProcessors: {} }],
    [/^jobTypeProcessors: expected an object/, { jobTypeProcessors: undefined }],
    [/^jobTypeProcessors.step.process: expected a function/, { jobTypeProcessors: { step: {} } }],
    [/^jobTypeProcessors.step options: .*got "retry"/, processor({ retry: {} })],
    [/^timeoutMs: expected an integer >= 1/, processor({ timeoutMs: 0 })],
    [/^jitter: expected a number 0 … 1/, processor({ retryConfig: { jitter: 2 } })],
    [/^maxAttempts: expected an integer >= 1, or Infinity/, processor({ retryConfig: { maxAttempts: 0 } })],
    [/^multiplier: expected a number >= 1/, processor({ retryConfig: { multiplier: 0.5 } })],
    [/^leaseMs: expected an integer >= 50/, processor({ leaseConfig: { leaseMs: 5 } })],
    [/renewIntervalMs: expected less than leaseMs \(30000\)/, processor({ leaseConfig: { leaseMs: 30_000 } })],
    [/^pollIntervalMs: expected an integer >= 1, or Infinity/, processing({ pollIntervalMs: 0 })],
    [/^nextJobDelayMs: expected an integer >= 0/, processing({ nextJobDelayMs: -1 })],
    [/^initialDelayMs: expected/, processing({ workerLoopRetryConfig: { initialDelayMs: 'soon' } })],
    [/^jobAttemptMiddlewares\[0\]: expected a function/, processing({ jobAttemptMiddlewares: [5] })],
    [/^deadlineMs: expected at least graceMs \(20000\)/, { stop: { deadlineMs: 5 } }],
    [/^stop options: .*got "timeout"/, { stop: { timeout: 5 } }],
  ]
  for (const [message, options] of wrong) {
    await assert.rejects(createInProcessWorker({ ...given, ...options } as never), invalid(message))
  }
})

test('an option and its alias together are refused', async () => {
  const wrong: [string, string, object][] = [
    ['graceMs', 'stop', { graceMs: 1, stop: { graceMs: 1 } }],
    ['pollMs', 'jobTypeProcessing', { pollMs: 1, ...processing({ pollIntervalMs: 1 }) }],
    ['pollMs', 'jobTypeProcessing', { pollMs: 1, ...processing({ pollMs: 1 }) }],
    ['pollMs', 'pollIntervalMs', processing({ pollMs: 1, pollIntervalMs: 1 })],
    ['maxAttempts', 'jobTypeProcessing', { maxAttempts: 1, ...processing({ defaultRetryConfig: { maxAttempts: 1 } }) }],
    ['backoff', 'defaultRetryConfig', processing({ backoff: 'none', defaultRetryConfig: { jitter: 0 } })],
    ['leaseMs', 'defaultLeaseConfig', processing({ leaseMs: 100, defaultLeaseConfig: { leaseMs: 100 } })],
    ['timeoutMs', 'defaultTimeoutMs', processing({ timeoutMs: 1, defaultTimeoutMs: 1 })],
    ['maxAttempts', 'retryConfig', processor({ maxAttempts: 1, retryConfig: { maxAttempts: 1 } })],
    ['backoff', 'retryConfig', processor({ backoff: 'none', retryConfig: { multiplier: 2 } })],
    ['leaseMs', 'leaseConfig', processor({ leaseMs: 100, leaseConfig: { leaseMs: 100 } })],
    ['renewIntervalMs', 'leaseConfig', processor({ renewIntervalMs: 10, leaseConfig: { renewIntervalMs: 10 } })],
  ]
  for (const [word, alias, options] of wrong) {
    await assert.rejects(createInProcessWorker({ ...given, ...options } as never), both(word, alias))
  }
  const client = await createClient({ storage, jobTypeRegistry: types })
  const waiting = client.waitForJobChainCompletion(
    { typeName: 'step', id: 'x' },
    { timeoutMs: 1, pollMs: 1, pollIntervalMs: 1 },
  )
  await assert.rejects(waiting, both('pollMs', 'pollIntervalMs'))
  await client.close()
})

test('an option that an alias does not set may stand beside it', () => {
  const config = resolveWorkerOptions({
    ...given,
    jobTypeProcessing: { nextJobDelayMs: 5 },
    pollMs: 7,
    stop: { deadlineMs: 40_000 },
    graceMs: 30_000,
    jobTypeProcessors: { step: { process, backoff: 'none', retryConfig: { maxAttempts: 3 }, leaseConfig: {} } },
  } as never)
  const [step] = config.types
  assert.deepEqual([config.pollMs, config.nextJobDelayMs, step!.backoff, step!.maxAttempts], [7, 5, 'none', 3])
  assert.deepEqual(resolveStop(config.stop, undefined), { graceMs: 30_000, deadlineMs: 40_000 })
})

test('a lease that is given by its word is renewed at a third', () => {
  assert.deepEqual(renewals({}, {}), [60_000, 30_000])
  assert.deepEqual(renewals({ leaseMs: 9_000 }, {}), [9_000, 3_000])
  assert.deepEqual(renewals(processing({ leaseMs: 9_000 }), {}), [9_000, 3_000])
  assert.deepEqual(renewals({ leaseMs: 9_000 }, { leaseMs: 600 }), [600, 200])
  assert.deepEqual(renewals({ leaseMs: 9_000, renewIntervalMs: 1_000 }, {}), [9_000, 1_000])
  assert.deepEqual(renewals({}, { leaseMs: 9_000, leaseConfig: { renewIntervalMs: 1_000 } }), [9_000, 1_000])
  assert.deepEqual(renewals({ leaseMs: 9_000 }, { leaseConfig: { leaseMs: 90_000 } }), [90_000, 3_000])
})

test('the backoff of a type over that of its worker: field by field where both are exponential', () => {
  const byDefault = { type: 'exponential', delayMs: 10_000, factor: 2, maxDelayMs: 300_000, jitter: 0.2 }
  assert.deepEqual(backoffOf({}, {}), byDefault)
  assert.deepEqual(backoffOf({ backoff: 'exponential' }, {}), byDefault)
  assert.deepEqual(backoffOf({ backoff: 'none' }, { backoff: 'exponential' }), byDefault)
  assert.deepEqual(backoffOf({ backoff: 'none' }, {}), 'none')
  const slower = { backoff: { type: 'exponential', factor: 3 } }
  assert.deepEqual(backoffOf(slower, {}), { ...byDefault, factor: 3 })
  assert.deepEqual(backoffOf(slower, { retryConfig: { jitter: 0 } }), { ...byDefault, factor: 3, jitter: 0 })
  assert.deepEqual(backoffOf(slower, { backoff: { type: 'fixed', delayMs: 5 } }), { type: 'fixed', delayMs: 5 })
  assert.deepEqual(backoffOf({ backoff: { type: 'fixed', delayMs: 5 } }, slower), { ...byDefault, factor: 3 })
})

test('a grace period without a deadline moves the deadline', () => {
  const { stop } = resolveWorkerOptions(given as never)
  assert.deepEqual(resolveStop(stop, { graceMs: 60_000 }), { graceMs: 60_000, deadlineMs: 65_000 })
  assert.deepEqual(resolveStop(stop, { graceMs: 5 }), { graceMs: 5, deadlineMs: 25_000 })
})

test('a stop with bad options is refused, and the worker goes on', async () => {
  const worker = await createInProcessWorker(given as never)
  const stop = await worker.start()
  const late = { graceMs: 30_000, deadlineMs: 25_000 }
  await assert.rejects(stop(late), invalid(/^deadlineMs: expected at least graceMs \(30000\)/))
  await stop({ graceMs: 0 })
})

test('a processor for a type that the registry does not know', async () => {
  const jobTypeRegistry = defineJobTypes({ step: { entry: true, input: v.null(), output: v.null() } })
  const worker = createInProcessWorker({
    ...given,
    jobTypeRegistry,
    jobTypeProcessors: { other: { process } },
  } as never)
  await assert.rejects(worker, { code: 'UNKNOWN_TYPE', typeName: 'other' })
})

test('a renewal in the second half of a lease is logged as a warning', async () => {
  const entries: LogEntry[] = []
  const log = (entry: LogEntry): void => void entries.push(entry)
  const leaseConfig = { leaseMs: 1_000, renewIntervalMs: 600 }
  await createInProcessWorker({ ...given, log, jobTypeProcessors: { step: { process, leaseConfig } } } as never)
  assert.deepEqual(
    entries.map(({ level, data }) => [level, data]),
    [['warn', { typeName: 'step', leaseMs: 1_000, renewIntervalMs: 600 }]],
  )
})

test('the options of a type are merged over those of the worker, and these over the defaults', () => {
  const {
    types: resolved,
    loopBackoff,
    stop,
    ...rest
  } = resolveWorkerOptions({
    ...given,
    jobTypeProcessing: {
      defaultRetryConfig: { maxAttempts: 5, jitter: undefined },
      defaultLeaseConfig: { leaseMs: 300_000 },
      defaultTimeoutMs: 7,
    },
    jobTypeProcessors: {
      step: {
        process,
        retryConfig: { initialDelayMs: 30_000 },
        leaseConfig: { renewIntervalMs: 60_000 },
        timeoutMs: 9,
      },
      plain: { process },
    },
  } as never)
  const [step, plain] = resolved
  const backoff = { type: 'exponential', delayMs: 10_000, factor: 2, maxDelayMs: 300_000, jitter: 0.2 } as const
  assert.deepEqual([step!.maxAttempts, step!.backoff], [5, { ...backoff, delayMs: 30_000 }])
  assert.deepEqual([step!.leaseMs, step!.renewIntervalMs, step!.timeoutMs], [300_000, 60_000, 9])
  assert.deepEqual(
    [plain!.maxAttempts, plain!.backoff, plain!.leaseMs, plain!.renewIntervalMs, plain!.timeoutMs],
    [5, backoff, 300_000, 30_000, 7],
  )
  assert.deepEqual(loopBackoff, backoff)
  assert.deepEqual(resolveStop(stop, undefined), { graceMs: 20_000, deadlineMs: 25_000 })
  assert.deepEqual([rest.concurrency, rest.pollMs, rest.nextJobDelayMs, rest.middlewares], [1, 60_000, 0, []])
})
