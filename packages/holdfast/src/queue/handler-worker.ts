// The handler of a Queue, and the worker that runs it. Invariant: at most one worker at a time.

import { engineDefaults } from '../engine/defaults.ts'
import type { PublishEvent } from '../engine/events.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import { idleState, type WorkerState } from '../engine/health.ts'
import type { LimitsCopy } from '../engine/limits/limits-copy.ts'
import { retryUntilReady } from '../engine/retry-until-ready.ts'
import type { WorkType } from '../engine/work/work-type.ts'
import { Worker } from '../engine/work/worker.ts'
import { HoldfastError, invalidArgument } from '../errors.ts'
import { workOf } from './execute.ts'
import type { JobHandler } from './handler.ts'
import type { ResolvedQueueConfig } from './queue-config.ts'

export class HandlerWorker<TPayload, TResult> {
  readonly #config: ResolvedQueueConfig<TPayload, TResult>
  readonly #storage: GuardedStorage
  readonly #publishEvent: PublishEvent
  readonly #limits: LimitsCopy
  readonly #onCompleted: NonNullable<WorkType['onCompleted']>
  #handler: JobHandler<TPayload, TResult> | undefined
  #worker: Worker | undefined

  /** @param onCompleted called when a job was completed here, with its stored result */
  constructor(
    config: ResolvedQueueConfig<TPayload, TResult>,
    storage: GuardedStorage,
    limits: LimitsCopy,
    publishEvent: PublishEvent,
    onCompleted: NonNullable<WorkType['onCompleted']>,
  ) {
    this.#config = config
    this.#onCompleted = onCompleted
    this.#storage = storage
    this.#limits = limits
    this.#publishEvent = publishEvent
  }

  /** @throws HANDLER_ALREADY_SET, INVALID_ARGUMENT */
  setHandler(handler: JobHandler<TPayload, TResult>): void {
    if (typeof handler !== 'function') throw invalidArgument('handler', 'a function', handler)
    if (this.#handler) {
      const message = `queue '${this.#config.name}': execute() was called twice. The first handler stays. Use another name for another kind of job.`
      throw new HoldfastError('HANDLER_ALREADY_SET', message)
    }
    this.#handler = handler
  }

  get hasHandler(): boolean {
    return this.#handler !== undefined
  }

  /** Undefined while there is no handler. */
  get state(): WorkerState | undefined {
    return this.#worker?.state ?? (this.#handler && idleState(this.#config.concurrency))
  }

  /** Starts the worker, if there is a handler and no worker. @throws what the storage rejects with */
  async start(signal: AbortSignal): Promise<void> {
    const handler = this.#handler
    if (!handler || this.#worker || signal.aborted) return
    const { clock, workerId, concurrency, pollMs, presenceMs, prefetchMs } = this.#config
    const worker = new Worker({
      storage: this.#storage,
      clock,
      label: workerId,
      concurrency,
      pollMs,
      presenceMs,
      prefetchMs,
      limits: this.#limits,
      slotPauseMs: 0,
      loopBackoff: engineDefaults.loopBackoff,
      publishEvent: this.#publishEvent,
      types: [workOf(this.#config, handler, this.#publishEvent, this.#onCompleted)],
    })
    this.#worker = worker
    try {
      await worker.start()
    } catch (error) {
      if (this.#worker === worker) this.#worker = undefined
      throw error
    }
  }

  /** Starts the worker and retries every failure: for an execute() after start(), which has no promise to reject. */
  async startUntilReady(signal: AbortSignal): Promise<void> {
    const onFailure = (error: Error): void => this.#publishEvent({ name: 'error', error })
    await retryUntilReady(() => this.start(signal), { clock: this.#config.clock, signal, onFailure, always: true })
  }

  /** Stops the worker. @returns the time left for the storage, in ms; undefined if there was no worker */
  async stop(graceMs: number): Promise<number | undefined> {
    const afterAbortMs = Math.min(engineDefaults.afterAbortMs, graceMs)
    const leftMs = await this.#worker?.stop({ graceMs, afterAbortMs })
    this.#worker = undefined
    return leftMs
  }
}
