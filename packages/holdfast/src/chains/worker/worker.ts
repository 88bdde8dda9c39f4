// createInProcessWorker: runs the jobs of chains on the engine's worker.

import { readable } from '../../copy-option.ts'
import { atMost } from '../../clock.ts'
import { Connection } from '../../engine/connection.ts'
import { type Health, healthOf, idleState } from '../../engine/health.ts'
import { Lifecycle } from '../../engine/lifecycle.ts'
import type { NewSchedule } from '../../engine/schedule/schedule-store.ts'
import { Scheduler } from '../../engine/schedule/scheduler.ts'
import type { Attempt } from '../../engine/work/attempt.ts'
import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import type { WorkType } from '../../engine/work/work-type.ts'
import { Worker } from '../../engine/work/worker.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { type Processing, processJob } from '../attempt/process-job.ts'
import { type Dependencies, dependenciesOf } from '../dependencies.ts'
import { writeEntry } from '../events/log.ts'
import { decodeInput } from '../job/values.ts'
import { newScheduleOf, scheduleOwner } from '../job/schedules.ts'
import { defaultRetention, workerRunOptions } from '../options.ts'
import { transactionSlots } from '../transactions/transaction-slots.ts'
import type { InProcessWorker, InProcessWorkerOptions, StopOptions } from '../types/worker.ts'
import { Gauges } from './gauges.ts'
import {
  resolveStop,
  resolveWorkerOptions,
  type StopTimes,
  type TypeConfig,
  type WorkerConfig,
} from './worker-config.ts'

/** Time that stop() leaves to the storage after its deadline, in ms. */
const stopWritesMs = 1_000

/**
 * Makes a worker that runs the jobs of the types in `jobTypeProcessors`, in this process. It works between start() and stop().
 * @throws TypeError INVALID_ARGUMENT, UNKNOWN_TYPE
 */
export async function createInProcessWorker<T, Tx = never>(
  options: InProcessWorkerOptions<T, Tx>,
): Promise<InProcessWorker> {
  const config = resolveWorkerOptions(options)
  warnOfLateRenewals(config)
  return new ChainWorker(config)
}

function warnOfLateRenewals({ types, log, logger }: WorkerConfig): void {
  for (const { typeName, leaseMs, renewIntervalMs } of types) {
    if (renewIntervalMs <= leaseMs / 2) continue
    const message =
      `job type '${typeName}': renewIntervalMs (${renewIntervalMs}) is more than half of leaseMs (${leaseMs}). ` +
      'After one failed renewal there is no time for another.'
    const entry = {
      event: 'leaseConfig',
      level: 'warn',
      message,
      data: { typeName, leaseMs, renewIntervalMs },
    } as const
    log?.(entry)
    if (logger) writeEntry(logger, entry)
  }
}

type Stop = (options?: StopOptions) => Promise<void>

class ChainWorker implements InProcessWorker {
  readonly #config: WorkerConfig
  readonly #dependencies: Dependencies
  readonly #processing: Processing
  readonly #gauges: Gauges
  readonly #connection: Connection
  readonly #lifecycle: Lifecycle<StopTimes>
  #worker: Worker | undefined
  #scheduler: Scheduler | undefined
  /** Of the last start: its signal, and the function that stops it. */
  #started: { readonly signal: AbortSignal; readonly stop: Stop } | undefined

  constructor(config: WorkerConfig) {
    this.#config = config
    const dependencies = dependenciesOf(config, config)
    this.#dependencies = dependencies
    const { workerId, middlewares, concurrency, observer, types } = config
    const { clock, storage, publishEvent, publishChainEvent } = dependencies
    this.#processing = { workerId, middlewares, dependencies, slots: transactionSlots(config.storage) }
    const typeNames = types.map(({ typeName }) => typeName)
    this.#gauges = new Gauges({ workerId, concurrency, typeNames, observer, clock, publishChainEvent })
    this.#connection = new Connection(storage, workerId)
    this.#lifecycle = new Lifecycle({
      clock,
      stopWritesMs,
      open: (signal) => this.#open(signal),
      close: (times, leftMs) => this.#close(times, leftMs),
      onFailure: (error) => publishEvent({ name: 'error', error }),
    })
  }

  // ── life-cycle ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async start(): Promise<Stop> {
    const ready = this.#lifecycle.start()
    const { stop } = this.#startOf(this.#lifecycle.signal!)
    await ready
    return stop
  }

  async run(options?: StopOptions & { readonly signal?: AbortSignal | undefined }): Promise<void> {
    const { signal } = resolveOptions('run', options, workerRunOptions)
    const { graceMs, deadlineMs } = options ?? {}
    await this.#lifecycle.run(signal, resolveStop(this.#config.stop, { graceMs, deadlineMs }))
  }

  stop(options?: StopOptions): Promise<void> {
    return this.#stop(options, undefined)
  }

  health(): Health {
    const { workerId, concurrency } = this.#config
    const name = `worker '${workerId}'`
    const { storage } = this.#dependencies
    return healthOf(
      name,
      this.#lifecycle.isReady,
      storage.unansweredMs(),
      this.#worker?.state ?? idleState(concurrency),
    )
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /** Not async: calls that join one stop get one promise. @param only see Lifecycle.stop */
  #stop(options: StopOptions | undefined, only: AbortSignal | undefined): Promise<void> {
    try {
      return this.#lifecycle.stop(resolveStop(this.#config.stop, options), only)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  #startOf(signal: AbortSignal): { readonly stop: Stop } {
    if (this.#started?.signal !== signal) {
      this.#started = { signal, stop: (options) => this.#stop(options, signal) }
    }
    return this.#started
  }

  async #open(signal: AbortSignal): Promise<void> {
    const { publishEvent } = this.#dependencies
    const connected = await this.#connection.start()
    // A stop that did not wait for this start gives its connection back, or leaves it to a later start.
    if (signal.aborted) return
    let worker: Worker | undefined
    let scheduler: Scheduler | undefined
    try {
      const declared = await this.#declaredSchedules()
      if (signal.aborted) return
      this.#scheduler = scheduler = this.#newScheduler(declared)
      await scheduler.start()
      if (signal.aborted) return
      this.#worker = worker = this.#newWorker()
      await worker.start()
    } catch (error) {
      // A stop that did not wait for this start has stopped both, and a later start may have others.
      if (this.#worker === worker) this.#worker = undefined
      if (this.#scheduler === scheduler) await this.#stopScheduler()
      if (connected && !signal.aborted) {
        await this.#connection
          .close()
          .catch((problem: unknown) => publishEvent({ name: 'error', error: problem as Error }))
      }
      throw error
    }
    if (!signal.aborted) this.#gauges.start()
  }

  async #close({ graceMs, deadlineMs }: StopTimes, storageMs: number): Promise<void> {
    const { storage, clock, publishEvent, publishChainEvent } = this.#dependencies
    const worker = this.#worker
    this.#worker = undefined
    const unscheduled = this.#stopScheduler()
    let leftMs = storageMs
    if (worker) {
      publishChainEvent('workerStopping', { workerId: this.#config.workerId })
      leftMs = await worker.stop({ graceMs, afterAbortMs: deadlineMs - graceMs, writesMs: storageMs })
      this.#gauges.stop()
    }
    const deadline = clock.monotonic() + leftMs
    try {
      await atMost(clock, leftMs, unscheduled)
      await atMost(clock, deadline - clock.monotonic(), this.#connection.stop())
    } catch (error) {
      publishEvent({ name: 'error', error: error as Error })
    }
    storage.endRepeats()
  }

  // ── schedules ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async #declaredSchedules(): Promise<NewSchedule[] | undefined> {
    const { schedules, jobTypeRegistry } = this.#config
    if (schedules === undefined) return undefined
    return Promise.all(
      readable('schedules', () => Object.entries(schedules)).map(([name, given]) =>
        newScheduleOf(name, given, jobTypeRegistry, defaultRetention),
      ),
    )
  }

  #newScheduler(declared: readonly NewSchedule[] | undefined): Scheduler {
    const { storage, clock, publishEvent } = this.#dependencies
    const { types, release, pollMs, notifier } = this.#config
    const served = new Set(types.map(({ type }) => type))
    return new Scheduler({
      storage,
      clock,
      owner: scheduleOwner,
      isServed: (type) => served.has(type),
      declared,
      release,
      polls: pollMs !== Infinity || notifier !== undefined,
      publishEvent,
    })
  }

  async #stopScheduler(): Promise<void> {
    const scheduler = this.#scheduler
    this.#scheduler = undefined
    const { publishEvent } = this.#dependencies
    await scheduler?.stop().catch((error: unknown) => publishEvent({ name: 'error', error: error as Error }))
  }

  // ── work ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  #newWorker(): Worker {
    const { storage, clock, publishEvent } = this.#dependencies
    const { concurrency, pollMs, presenceMs, prefetchMs, nextJobDelayMs, types, workerId, loopBackoff } = this.#config
    return new Worker({
      storage,
      clock,
      label: workerId,
      concurrency,
      pollMs,
      presenceMs,
      prefetchMs,
      slotPauseMs: nextJobDelayMs,
      limits: this.#dependencies.limits,
      loopBackoff,
      publishEvent,
      types: types.map((type) => this.#workOf(type)),
    })
  }

  #workOf(config: TypeConfig): WorkType {
    const { typeName, type, leaseMs, renewIntervalMs, maxAttempts, keep } = config
    return {
      type,
      leaseMs,
      renewMs: renewIntervalMs,
      // The attempt has a timer of its own: it has more to end than its lease.
      capMs: Infinity,
      hasOwnTimer: true,
      maxAttempts: maxAttempts === Infinity ? undefined : maxAttempts,
      keep,
      publishesStarts: this.#dependencies.isObserved,
      run: (attempt, onEnd) => this.#run(attempt, config).then((end) => onEnd(attempt, end)),
      payloadOf: (bytes) => {
        try {
          return decodeInput(typeName, bytes)
        } catch {
          return undefined
        }
      },
    }
  }

  /** Never rejects. */
  #run(attempt: Attempt, config: TypeConfig): Promise<AttemptEnd> {
    this.#gauges.began(config.typeName)
    const ended = processJob(attempt, config, this.#processing)
    void ended.then(() => this.#gauges.ended(config.typeName))
    return ended
  }
}
