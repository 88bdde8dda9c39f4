// The Queue: entry point for "run this once, later or elsewhere, and give me the result".
// Longer than other files because it is a façade: each method delegates in a few lines, with its documentation.

import { EventEmitter } from 'node:events'
import { atMost } from '../clock.ts'
import { Connection } from '../engine/connection.ts'
import { emitSafely } from '../engine/emit.ts'
import { type EngineEvent, isWatched, type Tell, teller } from '../engine/events.ts'
import { type GuardedStorage, guardStorage } from '../engine/guard.ts'
import { Adder, type Answer, asIs, type Draft } from '../engine/job/adder.ts'
import { decode, encode } from '../engine/job/serde.ts'
import { Lifecycle, type RunOptions } from '../engine/lifecycle.ts'
import { eventLog } from '../engine/log-events.ts'
import { checkId } from '../option-checks.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { AddVerdict, JobRecord, NewJob, RecordPart } from '../storage/storage.ts'
import { type CancelOptions, type CancelResult, cancelResult } from './cancel.ts'
import {
  draftOf,
  type EnqueueAndWaitOptions,
  type EnqueueOptions,
  type EnqueueResult,
  enqueueResult,
  type JobOptions,
} from './enqueue.ts'
import { type EventStream, LiveStream } from './event-stream.ts'
import { HandlerWorker } from './handler-worker.ts'
import type { JobHandler } from './handler.ts'
import {
  cancelOptions,
  enqueueOptions,
  queueOptions,
  runOptions,
  stopOptions,
  streamOptions,
  waitOptions,
} from './options.ts'
import {
  type QueueConfig,
  type QueueStopOptions,
  type ResolvedQueueConfig,
  resolveQueueConfig,
} from './queue-config.ts'
import { emittedArguments, emittedNames, type QueueEvents } from './queue-events.ts'
import { type MessageStatus, statusOf, type UpdateResultTTLResult, updateTTLResult, waitedResult } from './status.ts'
import { Waits } from './waits.ts'

/**
 * A queue of jobs of one kind: it accepts them, runs them with its handler, and keeps their results.
 * @typeParam Tx transaction of the storage. Inferred, or named after the other two; else only the storage checks `tx`
 */
export class Queue<TPayload, TResult = void, Tx = unknown> extends EventEmitter<QueueEvents<TResult>> {
  readonly name: string
  /** Name of this worker, in records and events. */
  readonly workerId: string
  readonly #config: ResolvedQueueConfig<TPayload, TResult>
  readonly #storage: GuardedStorage
  readonly #connection: Connection
  readonly #tell: Tell
  readonly #adder: Adder
  readonly #waits: Waits
  readonly #handlerWorker: HandlerWorker<TPayload, TResult>
  readonly #streams = new Set<LiveStream>()
  readonly #lifecycle: Lifecycle<number>
  readonly #type: string

  readonly #resultOfAdd = (verdict: AddVerdict): EnqueueResult<TResult> =>
    enqueueResult(verdict, this.#config.resultSerde)

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(config: QueueConfig<TPayload, TResult, Tx>) {
    super()
    this.#config = resolveQueueConfig(config)
    const { name, type, workerId, clock, storage, logger } = this.#config
    this.name = name
    this.#type = type
    this.workerId = workerId
    const log = eventLog(logger, `queue '${name}'`)
    this.#tell = teller((event) => {
      log?.(event)
      this.#emit(event)
    })
    this.#storage = guardStorage(storage, clock, this.#tell)
    this.#connection = new Connection(this.#storage, name)
    const add = (jobs: readonly NewJob[]): Promise<AddVerdict[]> =>
      this.#storage.add(jobs).catch((error: unknown) => {
        throw this.#connection.explain(error)
      })
    this.#adder = new Adder(clock.newId(), add, storage.settings.addsPerCall, (answers) => this.#publishAdded(answers))
    this.#handlerWorker = new HandlerWorker(this.#config, this.#storage, this.#tell)
    this.#waits = new Waits({
      storage: this.#storage,
      connect: () => this.#connection.use(),
      clock,
      type,
      tell: this.#tell,
    })
    this.#lifecycle = new Lifecycle({
      clock,
      open: (signal) => this.#open(signal),
      close: (graceMs, leftMs) => this.#close(graceMs, leftMs),
      onFailure: (error) => this.#publishError(error),
    })
  }

  // ── life-cycle ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Connects the storage and, with a handler, starts to run jobs. Resolves when ready. While the storage is unavailable it is
   * retried, with an `error` event each time. Idempotent.
   * @throws StorageError that a retry cannot help, such as a wrong password. The next start() begins anew
   */
  start(): Promise<void> {
    return this.#lifecycle.start()
  }

  /** Starts the queue, and resolves when it was stopped. @param options.signal stops the queue @throws as start() */
  async run(options?: RunOptions): Promise<void> {
    const { signal, graceMs } = resolveOptions('run', options, runOptions)
    await this.#lifecycle.run(signal, graceMs)
  }

  /**
   * Stops the queue: claims no new job, lets handlers run for `graceMs` (30_000 ms by default), aborts their signals, releases
   * unfinished jobs without spending an attempt, and disconnects. Always resolves, within graceMs + 5.5 s. Idempotent.
   * @throws TypeError INVALID_ARGUMENT
   */
  stop(options?: QueueStopOptions): Promise<void> {
    try {
      const { graceMs } = resolveOptions('stop', options, stopOptions)
      return this.#lifecycle.stop(graceMs)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  /** Stops the queue with the defaults of stop(), at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /**
   * Sets the handler, before or after start(). A queue without one accepts jobs and runs none.
   * @throws HANDLER_ALREADY_SET, INVALID_ARGUMENT
   */
  execute(handler: JobHandler<TPayload, TResult>): void {
    this.#handlerWorker.setHandler(handler)
    const { signal } = this.#lifecycle
    if (!signal) return
    void this.#lifecycle.start().then(
      () => this.#handlerWorker.startUntilReady(signal),
      () => {},
    )
  }

  async #open(signal: AbortSignal): Promise<void> {
    const connected = await this.#connection.start()
    // A stop that did not wait for this start gives the reference back, or leaves it to a later start.
    if (signal.aborted) return
    try {
      await this.#handlerWorker.start(signal)
    } catch (error) {
      if (connected && !signal.aborted) await this.#connection.close().catch((problem) => this.#publishError(problem))
      throw error
    }
    if (!signal.aborted) emitSafely(this, this.#config.logger, 'started')
  }

  async #close(graceMs: number, storageMs: number): Promise<void> {
    const { clock } = this.#config
    const leftMs = (await this.#handlerWorker.stop(graceMs)) ?? storageMs
    for (const stream of this.#streams) stream.end()
    const deadline = clock.monotonic() + leftMs
    try {
      await atMost(clock, leftMs, this.#waits.close(this.#connection.stoppedError()))
      await atMost(clock, deadline - clock.monotonic(), this.#connection.stop())
    } catch (error) {
      this.#publishError(error)
    }
    emitSafely(this, this.#config.logger, 'stopped')
  }

  // ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Adds a job, unless its id is taken. When the promise resolves, the job is in the storage; with `tx`, when the transaction
   * commits.
   * @throws INVALID_ARGUMENT, SerializationError, TOO_LARGE, StorageError, QUEUE_STOPPED, FEATURE_UNSUPPORTED
   */
  enqueue(id: string, payload: TPayload, options?: EnqueueOptions<Tx>): Promise<EnqueueResult<TResult>> {
    // Not async: that would cost each call one more promise and tick.
    try {
      const given = options === undefined ? undefined : resolveOptions('enqueue', options, enqueueOptions)
      const job = this.#draft(id, payload, given)
      return given?.tx === undefined ? this.#add(job, this.#resultOfAdd) : this.#addIn(given.tx, job)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  /**
   * Adds a job, or joins the one that has its id, and waits for its result: 30_000 ms by default.
   * @throws as enqueue(), and TimeoutError, JobFailedError, JobCancelledError, JobNotFoundError, or the signal's reason
   */
  async enqueueAndWait(id: string, payload: TPayload, options?: EnqueueAndWaitOptions): Promise<TResult> {
    const { timeout, signal, ...given } = resolveOptions('enqueueAndWait', options, waitOptions)
    signal?.throwIfAborted()
    const job = this.#draft(id, payload, given)
    try {
      const end = await this.#waits.wait(id, () => this.#add(job, asIs), timeout, signal)
      return waitedResult(id, end, this.#config.resultSerde)
    } catch (error) {
      throw this.#connection.explain(error)
    }
  }

  /**
   * Cancels a waiting job. A running job is left alone; with `abort`, its signal aborts.
   * @throws INVALID_ARGUMENT, StorageError, QUEUE_STOPPED
   */
  async cancel(id: string, options?: CancelOptions): Promise<CancelResult> {
    checkId(id)
    const { abort } = resolveOptions('cancel', options, cancelOptions)
    const [answer] = await this.#whenConnected(() => this.#storage.cancel([{ type: this.#type, id }], { abort }))
    const result = cancelResult(answer!)
    if (result.status === 'cancelled') this.#tell({ name: 'cancelled', type: this.#type, id })
    return result
  }

  /**
   * Returns the result of a completed job: `undefined` if it has none. Returns null for any other job, and for an unknown id.
   * @throws INVALID_ARGUMENT, SerializationError, StorageError, QUEUE_STOPPED
   */
  async getResult(id: string): Promise<TResult | null> {
    const record = await this.#get(id, ['result'])
    return record?.state === 'completed' ? decode('result', this.#config.resultSerde, record.result) : null
  }

  /** Returns the state of a job, or null if its id is unknown or its record has expired. @throws as getResult() */
  async getStatus(id: string): Promise<MessageStatus<TResult> | null> {
    const record = await this.#get(id, ['result', 'error'])
    return record ? statusOf(record, this.#config.resultSerde, this.#config.maxAttempts) : null
  }

  /**
   * Keeps the record of an ended job, with its result or error and its id, for `ttlMs` from now.
   * @throws INVALID_ARGUMENT, StorageError, QUEUE_STOPPED
   */
  async updateResultTTL(id: string, ttlMs: number): Promise<UpdateResultTTLResult> {
    queueOptions.resultTTL.check('ttlMs', ttlMs)
    checkId(id)
    const [answer] = await this.#whenConnected(() =>
      this.#storage.remove([{ type: this.#type, id }], { afterMs: ttlMs }),
    )
    return updateTTLResult(answer!)
  }

  /**
   * Returns a stream of what happens to the jobs of this name from now on: in all processes if the storage has
   * `features.fleetEvents`, else in this one. Ends by `break`, by its signal, or when the queue stops.
   * @throws INVALID_ARGUMENT
   */
  events(options?: { readonly signal?: AbortSignal }): EventStream {
    const { signal } = resolveOptions('events', options, streamOptions)
    const listen: GuardedStorage['listen'] = (topics, onSignal) =>
      this.#whenConnected(() => this.#storage.listen(topics, onSignal))
    const end = (): void => stream.end()
    const stream = new LiveStream(listen, this.#type, this.#config.clock, () => {
      this.#streams.delete(stream)
      signal?.removeEventListener('abort', end)
    })
    this.#streams.add(stream)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end)
    return stream
  }

  /** Checks id and payload before anything is connected. */
  #draft(id: string, payload: TPayload, options: JobOptions | undefined): Draft {
    checkId(id)
    const { payloadSerde, maxPayloadBytes } = this.#config
    const bytes = encode('payload', payloadSerde, payload, maxPayloadBytes)
    return draftOf(this.#type, id, bytes, options, this.#config)
  }

  #add<T>(job: Draft, answerOf: (verdict: AddVerdict) => T): Promise<T> {
    if (this.#connection.isOpen) return this.#adder.add(job, answerOf)
    return this.#whenConnected(() => this.#adder.add(job, answerOf))
  }

  /** Adds one job under its own token: a batch may not mix transactions. Publishes nothing: the transaction may roll back. */
  #addIn(tx: Tx, draft: Draft): Promise<EnqueueResult<TResult>> {
    const job: NewJob = { ...draft, token: this.#config.clock.newId() }
    return this.#whenConnected(async () => {
      const [verdict] = await this.#storage.add([job], tx)
      return enqueueResult(verdict!, this.#config.resultSerde)
    })
  }

  #publishAdded(answers: readonly Answer[]): void {
    if (!isWatched() && this.listenerCount('enqueued') === 0) return
    for (const answer of answers) {
      if ('verdict' in answer && answer.verdict === 'added') {
        this.#tell({ name: 'added', type: this.#type, id: answer.job.id })
      }
    }
  }

  async #get(id: string, parts: readonly RecordPart[]): Promise<JobRecord | undefined> {
    checkId(id)
    const [record] = await this.#whenConnected(() => this.#storage.get([{ type: this.#type, id }], { parts }))
    return record
  }

  async #whenConnected<T>(call: () => Promise<T>): Promise<T> {
    try {
      if (!this.#connection.isOpen) await this.#connection.use()
      return await call()
    } catch (error) {
      throw this.#connection.explain(error)
    }
  }

  #emit(event: EngineEvent): void {
    if (event.name === 'released') emitSafely(this, this.#config.logger, 'released', event.id)
    const name = emittedNames[event.name]
    // Most events have no listener: their arguments are built only for one.
    if (name === undefined || (name !== 'error' && this.listenerCount(name) === 0)) return
    emitSafely(this, this.#config.logger, name, ...emittedArguments(event))
  }

  #publishError(error: unknown): void {
    this.#tell({ name: 'error', error: error as Error })
  }
}
