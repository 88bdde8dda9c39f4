// createInProcessWorker: runs the jobs of chains on the engine's worker.

import { atMost } from '../../clock.ts'
import type { Attempt } from '../../engine/work/attempt.ts'
import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import type { WorkType } from '../../engine/work/work-type.ts'
import { Worker } from '../../engine/work/worker.ts'
import { AttemptRun } from '../attempt/attempt-run.ts'
import { failureOf } from '../attempt/failure.ts'
import { Gauges } from './gauges.ts'
import { type Ground, groundOf } from '../dependencies.ts'
import { decodeJson } from '../json.ts'
import { runInMiddlewares } from '../attempt/middleware-run.ts'
import type { InProcessWorker, InProcessWorkerOptions, StopOptions } from '../types/processing.ts'
import { type PlainRunningJob, runningJobOf } from '../client/reading.ts'
import { inAttemptSpan } from '../events/tracing.ts'
import { transactionTurns, type TransactionTurns } from '../attempt/transaction.ts'
import { resolveStop, resolveWorkerOptions, type TypeConfig, type WorkerConfig } from './worker-config.ts'

/** For what stop() still has to write after its deadline, in ms. */
const stopWritesMs = 1_000

/** @throws TypeError INVALID_ARGUMENT, UNKNOWN_TYPE */
export async function createInProcessWorker<T, Tx = never>(
  options: InProcessWorkerOptions<T, Tx>,
): Promise<InProcessWorker> {
  const config = resolveWorkerOptions(options)
  for (const { typeName, leaseMs, renewIntervalMs } of config.types) {
    if (renewIntervalMs <= leaseMs / 2) continue
    config.log?.({
      event: 'leaseConfig',
      level: 'warn',
      message: `${typeName}: after one renewal that fails there is no time for another`,
      data: { typeName, leaseMs, renewIntervalMs },
    })
  }
  return new ChainWorker(config)
}

class ChainWorker implements InProcessWorker {
  readonly #config: WorkerConfig
  readonly #ground: Ground
  readonly #turns: TransactionTurns
  readonly #gauges: Gauges
  #running: Promise<(options?: StopOptions) => Promise<void>> | undefined
  #stopping: Promise<void> | undefined

  constructor(config: WorkerConfig) {
    this.#config = config
    this.#ground = groundOf(config, config.workerId)
    this.#turns = transactionTurns(config.storage)
    const { workerId, concurrency, observer, types } = config
    const { clock, tellChains } = this.#ground
    const typeNames = types.map(({ typeName }) => typeName)
    this.#gauges = new Gauges({ workerId, concurrency, typeNames, observer, clock, tellChains })
  }

  /** While it runs, another start gives the same. @throws StorageError; the next start tries afresh */
  start(): Promise<(options?: StopOptions) => Promise<void>> {
    if (this.#running) return this.#running
    const starting = this.#start().catch((error: unknown) => {
      if (this.#running === starting) this.#running = undefined
      throw error
    })
    this.#running = starting
    return starting
  }

  async #start(): Promise<(options?: StopOptions) => Promise<void>> {
    await this.#stopping
    const { storage, clock, tell } = this.#ground
    const { concurrency, pollIntervalMs, nextJobDelayMs, types, workerId, loopRetry } = this.#config
    await storage.connect()
    const worker = new Worker({
      storage,
      clock,
      label: workerId,
      concurrency,
      pollMs: pollIntervalMs,
      slotPauseMs: nextJobDelayMs,
      loopBackoff: {
        type: 'exponential',
        delayMs: loopRetry.initialDelayMs,
        factor: loopRetry.multiplier,
        maxDelayMs: loopRetry.maxDelayMs,
        jitter: loopRetry.jitter,
      },
      tell,
      types: types.map((type) => this.#workOf(type)),
    })
    try {
      await worker.start()
    } catch (error) {
      await storage.disconnect().catch((problem: unknown) => tell({ name: 'error', error: problem as Error }))
      throw error
    }
    this.#gauges.start()
    let stopped: Promise<void> | undefined
    return (options) => {
      if (stopped) return stopped
      try {
        const given = resolveStop(this.#config.stop, options)
        stopped = this.#stopping = this.#stop(worker, given)
        return stopped
      } catch (error) {
        return Promise.reject(error as Error)
      }
    }
  }

  async #stop(worker: Worker, { graceMs, deadlineMs }: Required<StopOptions>): Promise<void> {
    const { storage, clock, tell, tellChains } = this.#ground
    this.#running = undefined
    tellChains('workerStopping', { workerId: this.#config.workerId })
    const times = { graceMs, afterAbortMs: deadlineMs - graceMs, writesMs: stopWritesMs }
    const leftMs = await worker.stop(times)
    this.#gauges.stop()
    try {
      await atMost(clock, leftMs, storage.disconnect())
    } catch (error) {
      tell({ name: 'error', error: error as Error })
    }
  }

  #workOf(type: TypeConfig): WorkType {
    const { typeName, leaseMs, renewIntervalMs, retry } = type
    return {
      type: typeName,
      leaseMs,
      renewMs: renewIntervalMs,
      // The attempt has a timer of its own: it has more to end than its lease.
      capMs: Infinity,
      maxAttempts: retry.maxAttempts === Infinity ? undefined : retry.maxAttempts,
      plainReasons: true,
      tellsStarts: this.#ground.isObserved,
      run: (attempt) => this.#run(attempt, type),
      payloadOf: (bytes) => {
        try {
          return decodeJson('payload', bytes)
        } catch {
          return undefined
        }
      },
    }
  }

  /** Never rejects. */
  #run(attempt: Attempt, type: TypeConfig): Promise<AttemptEnd> {
    const { workerId, middlewares } = this.#config
    let job: PlainRunningJob
    try {
      job = runningJobOf(attempt.job, workerId)
    } catch (error) {
      return Promise.resolve(failureOf(attempt, error, type.retry, this.#ground.clock))
    }
    const run = new AttemptRun(attempt, job, type, this.#ground, this.#turns)
    const runAll = (): Promise<AttemptEnd> => {
      if (middlewares.length === 0) return run.run()
      const context = { job, workerId, signal: attempt.signal }
      const onError = (error: Error): void => this.#ground.tell({ name: 'error', error })
      const fail = (thrown: unknown): AttemptEnd => failureOf(attempt, thrown, type.retry, this.#ground.clock)
      return runInMiddlewares(run, middlewares, context, fail, onError)
    }
    this.#gauges.began(type.typeName)
    const ended = inAttemptSpan(this.#ground.storage, attempt.job, runAll, errorOf)
    void ended.then(() => this.#gauges.ended(type.typeName))
    return ended
  }
}

/** What a span shows of it: one that is put off has not failed. */
const errorOf = ({ ending, error }: AttemptEnd): Error | undefined => (ending.kind === 'released' ? undefined : error)
