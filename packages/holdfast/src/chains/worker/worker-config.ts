// The options of a worker, resolved once: the config of a type over the worker's own, field by field, over the defaults.

import { type Clock, systemClock } from '../../clock.ts'
import { invalidArgument, JobTypeValidationError } from '../../errors.ts'
import {
  inProcessWorkerOptions,
  leaseOptions,
  processingOptions,
  processorOptions,
  retryOptions,
  workerStopOptions,
} from '../options.ts'
import { resolveOptions } from '../../resolve-options.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Processor } from '../attempt/attempt-run.ts'
import type { PlainMiddleware } from '../attempt/middlewares.ts'
import type { InProcessWorkerOptions, LeaseConfig, RetryConfig, StopOptions } from '../types/processing.ts'
import type { JobTypeRegistry } from '../registry.ts'

export type WorkerConfig = ReturnType<typeof resolveWorkerOptions>

export interface TypeConfig extends Processor {
  readonly typeName: string
  readonly renewIntervalMs: number
}

/** @throws TypeError INVALID_ARGUMENT, UNKNOWN_TYPE */
export function resolveWorkerOptions<T, Tx>(options: InProcessWorkerOptions<T, Tx>) {
  const given = resolveOptions('createInProcessWorker', options, inProcessWorkerOptions)
  for (const name of ['storage', 'jobTypeRegistry', 'jobTypeProcessors'] as const) {
    inProcessWorkerOptions[name].check(name, given[name])
  }
  const processing = resolveOptions('jobTypeProcessing', given.jobTypeProcessing, processingOptions)
  const clock: Clock = given.clock ?? systemClock
  const stop = resolveStop(given.stop, undefined)
  const processors = given.jobTypeProcessors as Readonly<Record<string, object | undefined>>
  const registry = given.jobTypeRegistry as JobTypeRegistry<unknown>
  const names = Object.keys(processors).filter((name) => processors[name] !== undefined)
  if (names.length === 0) throw invalidArgument('jobTypeProcessors', 'at least one job type', processors)
  for (const name of names) {
    if (registry.typeNames && !registry.typeNames.includes(name)) {
      throw new JobTypeValidationError('UNKNOWN_TYPE', name, 'a processor for a type that is not declared')
    }
  }
  const { defaultRetryConfig, defaultLeaseConfig, defaultTimeoutMs, workerLoopRetryConfig } = processing
  return {
    pollIntervalMs: processing.pollIntervalMs,
    nextJobDelayMs: processing.nextJobDelayMs,
    // What the compiler knows of types, the run time does not.
    middlewares: processing.jobAttemptMiddlewares as readonly unknown[] as readonly PlainMiddleware[],
    storage: given.storage as Storage,
    jobTypeRegistry: registry,
    notifier: given.notifier,
    observer: given.observer,
    log: given.log,
    clock,
    workerId: given.workerId ?? clock.newId(),
    concurrency: given.concurrency,
    stop,
    loopRetry: retryOf('workerLoopRetryConfig', workerLoopRetryConfig, undefined),
    types: names.map((typeName): TypeConfig => {
      const where = `jobTypeProcessors.${typeName}`
      const processor = resolveOptions(where, processors[typeName], processorOptions) as {
        process: Processor['process']
        retryConfig?: RetryConfig
        leaseConfig?: LeaseConfig
        timeoutMs?: number
      }
      processorOptions.process.check(`${where}.process`, processor.process)
      return {
        typeName,
        process: processor.process,
        retry: retryOf(`${where}.retryConfig`, defaultRetryConfig, processor.retryConfig),
        ...leaseOf(`${where}.leaseConfig`, defaultLeaseConfig, processor.leaseConfig),
        timeoutMs: processor.timeoutMs ?? defaultTimeoutMs,
      }
    }),
  }
}

/** @param own given at the stop itself */
export function resolveStop(given: StopOptions | undefined, own: StopOptions | undefined): Required<StopOptions> {
  resolveOptions('stop', own, workerStopOptions)
  const stop = resolveOptions('stop', { ...defined(given), ...defined(own) }, workerStopOptions)
  const { graceMs, deadlineMs } = stop as Required<StopOptions>
  if (deadlineMs < graceMs) throw invalidArgument('deadlineMs', `at least graceMs (${graceMs})`, deadlineMs)
  return { graceMs, deadlineMs }
}

function retryOf(where: string, over: RetryConfig | undefined, own: RetryConfig | undefined): Required<RetryConfig> {
  resolveOptions(where, over, retryOptions)
  resolveOptions(where, own, retryOptions)
  return resolveOptions(where, { ...defined(over), ...defined(own) }, retryOptions) as Required<RetryConfig>
}

function leaseOf(where: string, over: LeaseConfig | undefined, own: LeaseConfig | undefined): Required<LeaseConfig> {
  resolveOptions(where, over, leaseOptions)
  resolveOptions(where, own, leaseOptions)
  const lease = resolveOptions(where, { ...defined(over), ...defined(own) }, leaseOptions) as Required<LeaseConfig>
  if (lease.renewIntervalMs >= lease.leaseMs) {
    throw invalidArgument(`${where}.renewIntervalMs`, `less than leaseMs (${lease.leaseMs})`, lease.renewIntervalMs)
  }
  return lease
}

/** What is undefined is as good as absent, and hides nothing under it. */
function defined<C extends object>(config: C | undefined): Partial<C> {
  return Object.fromEntries(Object.entries(config ?? {}).filter(([, value]) => value !== undefined)) as Partial<C>
}
