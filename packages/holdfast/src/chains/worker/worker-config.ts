// The options of a worker, resolved once: those of a type over the worker's own, field by field, over the defaults.

import { type Clock, systemClock } from '../../clock.ts'
import type { Backoff } from '../../engine/job/backoff.ts'
import { keptCounts, type RetentionCounts } from '../../engine/job/retention.ts'
import { type LimitsOptions, resolveLimits } from '../../engine/limits/limits-options.ts'
import { invalidArgument, JobTypeValidationError } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import type { KeepCount, Storage } from '../../storage/storage.ts'
import type { Processor } from '../attempt/chain-attempt.ts'
import type { PlainMiddleware } from '../attempt/middlewares.ts'
import type { GivenChainSchedule } from '../job/schedules.ts'
import { typeOf } from '../job/stored-type.ts'
import { defined, leaseWords, retryWords } from '../option-aliases.ts'
import {
  defaultBackoff,
  inProcessWorkerOptions,
  leaseOptions,
  processorOptions,
  workerStopOptions,
} from '../options.ts'
import type { JobTypeRegistry } from '../registry.ts'
import type { AttemptOptions, InProcessWorkerOptions, StopOptions } from '../types/worker.ts'

export type WorkerConfig = ReturnType<typeof resolveWorkerOptions>

export interface TypeConfig extends Processor {
  readonly typeName: string
  readonly type: string
  readonly renewIntervalMs: number
  readonly keep: readonly KeepCount[]
  readonly limits: LimitsOptions | undefined
}

/** @throws TypeError INVALID_ARGUMENT, UNKNOWN_TYPE */
export function resolveWorkerOptions<T, Tx>(options: InProcessWorkerOptions<T, Tx>) {
  const given = leaseWords(options ?? {}, resolveOptions('createInProcessWorker', options, inProcessWorkerOptions))
  for (const name of ['storage', 'jobTypeRegistry', 'jobTypeProcessors'] as const) {
    inProcessWorkerOptions[name].check(name, given[name])
  }
  const { pollMs, nextJobDelayMs, notifier, observer, logger, log, concurrency, graceMs, deadlineMs } = given
  const clock: Clock = given.clock ?? systemClock
  const registry = given.jobTypeRegistry as JobTypeRegistry<unknown>
  const processors = given.jobTypeProcessors as Readonly<Record<string, object | undefined>>
  const stop = { graceMs, deadlineMs }
  resolveStop(stop, undefined)
  return {
    // The run time knows nothing of the types of jobs.
    storage: given.storage as Storage,
    jobTypeRegistry: registry,
    middlewares: given.jobAttemptMiddlewares as readonly unknown[] as readonly PlainMiddleware[],
    notifier,
    observer,
    logger,
    log,
    clock,
    workerId: given.workerId ?? clock.newId(),
    concurrency,
    pollMs,
    presenceMs: given.presenceMs,
    prefetchMs: given.prefetchMs,
    nextJobDelayMs,
    schedules: given.schedules as Readonly<Record<string, GivenChainSchedule>> | undefined,
    release: given.release,
    loopBackoff: completeBackoff(retryWords(given.workerLoopRetryConfig ?? {}).backoff ?? 'exponential'),
    stop,
    types: namesOf(processors, registry).map((name) => typeConfig(name, processors[name]!, given)),
  }
}

function namesOf(
  processors: Readonly<Record<string, object | undefined>>,
  { typeNames }: JobTypeRegistry<unknown>,
): string[] {
  const names = Object.keys(processors).filter((name) => processors[name] !== undefined)
  if (names.length === 0) throw invalidArgument('jobTypeProcessors', 'at least one job type', processors)
  const unknown = typeNames && names.find((name) => !typeNames.includes(name))
  if (unknown === undefined) return names
  throw new JobTypeValidationError('UNKNOWN_TYPE', unknown, 'it has a processor, but the registry does not declare it')
}

function typeConfig(
  typeName: string,
  processor: object,
  worker: AttemptOptions & { readonly backoff: Backoff },
): TypeConfig {
  const where = `jobTypeProcessors.${typeName}`
  const own = leaseWords(processor, resolveOptions(where, processor, processorOptions)) as AttemptOptions & {
    process: Processor['process']
    onError?: Processor['onError']
    retention?: RetentionCounts
    limits?: LimitsOptions
  }
  processorOptions.process.check(`${where}.process`, own.process)
  const leaseMs = own.leaseMs ?? worker.leaseMs!
  const renewIntervalMs = own.renewIntervalMs ?? worker.renewIntervalMs ?? leaseOptions.renewIntervalMs.default
  if (renewIntervalMs >= leaseMs) {
    throw invalidArgument(`${where}.renewIntervalMs`, `less than leaseMs (${leaseMs})`, renewIntervalMs)
  }
  const type = typeOf(typeName)
  return {
    typeName,
    type,
    keep: keptCounts(type, own.retention),
    limits: own.limits && resolveLimits(own.limits),
    process: own.process,
    maxAttempts: own.maxAttempts ?? worker.maxAttempts!,
    backoff: backoffOver(own.backoff, completeBackoff(worker.backoff)),
    leaseMs,
    renewIntervalMs,
    timeoutMs: own.timeoutMs ?? worker.timeoutMs,
    maxSnoozes: own.maxSnoozes ?? worker.maxSnoozes!,
    onError: own.onError,
  }
}

/** Field by field where both are exponential; else the type's own. */
function backoffOver(own: Backoff | undefined, worker: Backoff): Backoff {
  if (own === undefined) return worker
  return isExponential(own) && isExponential(worker) ? { ...worker, ...defined(own) } : completeBackoff(own)
}

/** 'exponential', and fields that an exponential one does not give, are the default of this face. */
function completeBackoff(backoff: Backoff): Backoff {
  if (backoff === 'exponential') return defaultBackoff
  return isExponential(backoff) ? { ...defaultBackoff, ...defined(backoff) } : backoff
}

const isExponential = (backoff: Backoff): backoff is Extract<Backoff, { type: 'exponential' }> =>
  typeof backoff === 'object' && backoff.type === 'exponential'

export interface StopTimes {
  readonly graceMs: number
  readonly deadlineMs: number
}

/** What the deadline comes after the grace period at least, unless it is given. */
const afterGraceMs = 5_000

/** The options of a stop over those of its worker. @throws TypeError INVALID_ARGUMENT */
export function resolveStop(
  worker: { readonly graceMs: number; readonly deadlineMs?: number | undefined },
  own: StopOptions | undefined,
): StopTimes {
  resolveOptions('stop', own, workerStopOptions)
  const graceMs = own?.graceMs ?? worker.graceMs
  const byDefault = Math.max(workerStopOptions.deadlineMs.default, graceMs + afterGraceMs)
  const deadlineMs = own?.deadlineMs ?? worker.deadlineMs ?? byDefault
  if (deadlineMs < graceMs) throw invalidArgument('deadlineMs', `at least graceMs (${graceMs})`, deadlineMs)
  return { graceMs, deadlineMs }
}
