// What a client and a worker refuse to be made with, and what is merged over what.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes, type LogEntry } from 'holdfast/chains'
import * as v from 'valibot'
import { resolveWorkerOptions } from '../../src/chains/worker/worker-config.ts'

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
    [/^ageMs: expected an integer >= 0, or Infinity, got -1/, { retention: { failed: { ageMs: -1 } } }],
    [/^failed.ageMs: expected/, { retention: { failed: {} } }],
    [/^failed options: .*got "count"/, { retention: { failed: { count: 5 } } }],
  ]
  for (const [message, options] of wrong) {
    await assert.rejects(createClient({ storage, jobTypeRegistry: types, ...options } as never), invalid(message))
  }
})

const processing = (options: object) => ({ jobTypeProcessing: options })
const processor = (options: object) => ({ jobTypeProcessors: { step: { process, ...options } } })

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

test('a stop refuses the same, and does not stop', async () => {
  const worker = await createInProcessWorker(given as never)
  const stop = await worker.start()
  await assert.rejects(stop({ graceMs: 30_000 }), invalid(/^deadlineMs: expected at least graceMs \(30000\)/))
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

test('a renewal in the second half of a lease is a warning in the log', async () => {
  const entries: LogEntry[] = []
  const log = (entry: LogEntry): void => void entries.push(entry)
  const leaseConfig = { leaseMs: 1_000, renewIntervalMs: 600 }
  await createInProcessWorker({ ...given, log, jobTypeProcessors: { step: { process, leaseConfig } } } as never)
  assert.deepEqual(
    entries.map(({ level, data }) => [level, data]),
    [['warn', { typeName: 'step', leaseMs: 1_000, renewIntervalMs: 600 }]],
  )
})

test('the configs of a type lie over those of the worker, and these over the defaults', () => {
  const {
    types: resolved,
    loopRetry,
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
  const retry = { initialDelayMs: 10_000, multiplier: 2, maxDelayMs: 300_000, jitter: 0.2, maxAttempts: 5 }
  assert.deepEqual(step!.retry, { ...retry, initialDelayMs: 30_000 })
  assert.deepEqual([step!.leaseMs, step!.renewIntervalMs, step!.timeoutMs], [300_000, 60_000, 9])
  assert.deepEqual(
    [plain!.retry, plain!.leaseMs, plain!.renewIntervalMs, plain!.timeoutMs],
    [retry, 300_000, 30_000, 7],
  )
  assert.deepEqual(loopRetry, { ...retry, maxAttempts: Infinity })
  assert.deepEqual(stop, { graceMs: 20_000, deadlineMs: 25_000 })
  assert.deepEqual([rest.concurrency, rest.pollIntervalMs, rest.nextJobDelayMs, rest.middlewares], [1, 60_000, 0, []])
})
