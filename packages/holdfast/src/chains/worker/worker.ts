// createInProcessWorker: runs the jobs of chains on the engine's worker.

import { atMost } from '../../clock.ts'
import { Connection } from '../../engine/connection.ts'
import { Lifecycle } from '../../engine/lifecycle.ts'
import type { Attempt } from '../../engine/work/attempt.ts'
import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import type { WorkType } from '../../engine/work/work-type.ts'
import { Worker } from '../../engine/work/worker.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { type Processing, processJob } from '../attempt/process-job.ts'
import { type Dependencies, dependenciesOf } from '../dependencies.ts'
import { writeEntry } from '../events/log.ts'
import { decodeInput } from '../job/values.ts'
import { workerRunOptions } from '../options.ts'
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

/** @throws TypeError INVALID_ARGUMENT, UNKNOWN_TYPE */
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
  /** Of the last start: its signal, and the function that stops it. */
  #started: { readonly signal: AbortSignal; readonly stop: Stop } | undefined

  constructor(config: WorkerConfig) {
    this.#config = config
    const dependencies = dependenciesOf(config, config.workerId)
    this.#dependencies = dependencies
    const { workerId, middlewares, concurrency, observer, types } = config
    const { clock, storage, tell, tellChains } = dependencies
    this.#processing = { workerId, middlewares, dependencies, slots: transactionSlots(config.storage) }
    const typeNames = types.map(({ typeName }) => typeName)
    this.#gauges = new Gauges({ workerId, concurrency, typeNames, observer, clock, tellChains })
    this.#connection = new Connection(storage, workerId)
    this.#lifecycle = new Lifecycle({
      clock,
      stopWritesMs,
      open: (signal) => this.#open(signal),
      close: (times, leftMs) => this.#close(times, leftMs),
      onFailure: (error) => tell({ name: 'error', error }),
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
    const { tell } = this.#dependencies
    const connected = await this.#connection.start()
    // A stop that did not wait for this start gives its connection back, or leaves it to a later start.
    if (signal.aborted) return
    const worker = this.#newWorker()
    this.#worker = worker
    try {
      await worker.start()
    } catch (error) {
      if (this.#worker === worker) this.#worker = undefined
      if (connected && !signal.aborted) {
        await this.#connection.close().catch((problem: unknown) => tell({ name: 'error', error: problem as Error }))
      }
      throw error
    }
    if (!signal.aborted) this.#gauges.start()
  }

  async #close({ graceMs, deadlineMs }: StopTimes, storageMs: number): Promise<void> {
    const { clock, tell, tellChains } = this.#dependencies
    const worker = this.#worker
    this.#worker = undefined
    let leftMs = storageMs
    if (worker) {
      tellChains('workerStopping', { workerId: this.#config.workerId })
      leftMs = await worker.stop({ graceMs, afterAbortMs: deadlineMs - graceMs, writesMs: storageMs })
      this.#gauges.stop()
    }
    try {
      await atMost(clock, leftMs, this.#connection.stop())
    } catch (error) {
      tell({ name: 'error', error: error as Error })
    }
  }

  // ── work ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  #newWorker(): Worker {
    const { storage, clock, tell } = this.#dependencies
    const { concurrency, pollMs, nextJobDelayMs, types, workerId, loopBackoff } = this.#config
    return new Worker({
      storage,
      clock,
      label: workerId,
      concurrency,
      pollMs,
      slotPauseMs: nextJobDelayMs,
      loopBackoff,
      tell,
      types: types.map((type) => this.#workOf(type)),
    })
  }

  #workOf(config: TypeConfig): WorkType {
    const { typeName, type, leaseMs, renewIntervalMs, maxAttempts } = config
    return {
      type,
      leaseMs,
      renewMs: renewIntervalMs,
      // The attempt has a timer of its own: it has more to end than its lease.
      capMs: Infinity,
      maxAttempts: maxAttempts === Infinity ? undefined : maxAttempts,
      plainReasons: true,
      tellsStarts: this.#dependencies.isObserved,
      run: (attempt) => this.#run(attempt, config),
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
