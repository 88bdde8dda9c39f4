// The Queue: entry point for "run this once, later or elsewhere, and give me the result".
// Longer than other files because it is a façade: each method delegates in a few lines, with its documentation.

import { EventEmitter } from 'node:events'
import { atMost } from '../clock.ts'
import { Connection } from '../engine/connection.ts'
import { emitSafely } from '../engine/emit.ts'
import { HoldfastError, invalidArgument, JobCancelledError, JobFailedError, JobNotFoundError } from '../errors.ts'
import { type EventStream, LiveStream } from './event-stream.ts'
import { type EngineEvent, isWatched, type Tell, teller } from '../engine/events.ts'
import { Adder, type Answer, asIs, type Draft } from '../engine/job/adder.ts'
import {
  draftOf,
  type EnqueueAndWaitOptions,
  type EnqueueOptions,
  type EnqueueResult,
  enqueueResult,
  type JobOptions,
} from './enqueue.ts'
import { decode, encode } from '../engine/job/serde.ts'
import { attemptsOf, errorOf, type MessageStatus, statusOf } from './status.ts'
import { Waiters, type WaitEnd } from './waiter.ts'
import { checkId } from '../option-checks.ts'
import { engineDefaults } from '../engine/defaults.ts'
import { Lifecycle, type RunOptions } from '../engine/lifecycle.ts'
import { eventLog } from '../engine/log-events.ts'
import { retryUntilReady } from '../engine/retry-until-ready.ts'
import {
  cancelOptions,
  enqueueOptions,
  queueOptions,
  runOptions,
  stopOptions,
  streamOptions,
  waitOptions,
} from './options.ts'
import { resolveOptions } from '../resolve-options.ts'
import { type QueueConfig, type ResolvedQueueConfig, resolveQueueConfig } from './queue-config.ts'
import { emittedArguments, emittedNames, type QueueEvents } from './queue-events.ts'
import { type GuardedStorage, guardStorage } from '../engine/guard.ts'
import type { AddVerdict, JobRecord, NewJob, RecordPart } from '../storage/storage.ts'
import { workOf } from './execute.ts'
import type { JobHandler } from './handler.ts'
import { Worker } from '../engine/work/worker.ts'

export type CancelResult =
  | { status: 'cancelled' | 'not_found' | 'completed' | 'failed' }
  | { status: 'processing'; aborting?: true }

export interface CancelOptions {
  /** Asks the worker of a running job to stop: its signal aborts. @default false */
  readonly abort?: boolean | undefined
}

export interface QueueStopOptions {
  /** How long handlers may go on, in ms, before their signals abort. @default 30_000 */
  readonly graceMs?: number | undefined
  /** Alias of graceMs. */
  readonly timeout?: number | undefined
}

/** `missing_payload` comes from custom storages only. */
export interface UpdateResultTTLResult {
  status: 'updated' | 'not_found' | 'not_terminal' | 'missing_payload'
}

/** @typeParam Tx a transaction of the storage: inferred, or named beside the other two; else `tx` is checked by the storage alone */
export class Queue<TPayload, TResult = void, Tx = unknown> extends EventEmitter<QueueEvents<TResult>> {
  readonly name: string
  readonly workerId: string
  readonly #config: ResolvedQueueConfig<TPayload, TResult>
  readonly #storage: GuardedStorage
  readonly #connection: Connection
  readonly #tell: Tell
  readonly #adder: Adder
  readonly #waiters: Waiters
  readonly #streams = new Set<LiveStream>()
  readonly #lifecycle: Lifecycle<number>
  readonly #type: string
  #handler: JobHandler<TPayload, TResult> | undefined
  #worker: Worker | undefined

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
    this.#adder = new Adder(clock.newId(), add, storage.settings.addsPerCall, (answers) => this.#tellAdded(answers))
    this.#waiters = new Waiters({
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
      onFailure: (error) => this.#tellError(error),
    })
  }

  // ── life-cycle ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Connects and, with a handler, begins to work. Resolves when ready; a storage that is unavailable is retried until then,
   * with an `error` event each time. Idempotent.
   * @throws StorageError that time cannot mend, such as a wrong password; the next start begins anew
   */
  start(): Promise<void> {
    return this.#lifecycle.start()
  }

  /** Starts, and resolves once the queue was stopped. @param options.signal stops it @throws as start */
  async run(options?: RunOptions): Promise<void> {
    const { signal, graceMs } = resolveOptions('run', options, runOptions)
    await this.#lifecycle.run(signal, graceMs)
  }

  /**
   * Takes no new job, lets handlers run for `graceMs`, aborts them, releases what is unfinished, and disconnects.
   * Always returns, within graceMs + 5.5 s. @param options.graceMs default 30_000; alias: `timeout`
   */
  stop(options?: QueueStopOptions): Promise<void> {
    try {
      const { graceMs } = resolveOptions('stop', options, stopOptions)
      return this.#lifecycle.stop(graceMs)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /** Sets the handler, before or after start(). @throws HANDLER_ALREADY_SET, INVALID_ARGUMENT */
  execute(handler: JobHandler<TPayload, TResult>): void {
    if (typeof handler !== 'function') throw invalidArgument('handler', 'a function', handler)
    if (this.#handler) {
      throw new HoldfastError(
        'HANDLER_ALREADY_SET',
        `queue '${this.name}': execute() was called twice. A queue has one handler; use another name for another kind of job.`,
      )
    }
    this.#handler = handler
    const { signal } = this.#lifecycle
    if (signal)
      void this.#lifecycle.start().then(
        () => this.#workUntilReady(signal),
        () => {},
      )
  }

  /** After an execute() that follows start(): no caller is left to retry, so it is tried until it works. */
  async #workUntilReady(signal: AbortSignal): Promise<void> {
    const { clock } = this.#config
    const onFailure = (error: Error): void => this.#tellError(error)
    await retryUntilReady(() => this.#work(signal), { clock, signal, onFailure, always: true })
  }

  async #open(signal: AbortSignal): Promise<void> {
    const connected = await this.#connection.start()
    // A stop that did not wait for this start gives its count back, or leaves it to a later start.
    if (signal.aborted) return
    try {
      await this.#work(signal)
    } catch (error) {
      if (connected && !signal.aborted) await this.#connection.close().catch((problem) => this.#tellError(problem))
      throw error
    }
    if (!signal.aborted) emitSafely(this, this.#config.logger, 'started')
  }

  async #work(signal: AbortSignal): Promise<void> {
    const handler = this.#handler
    if (!handler || this.#worker || signal.aborted) return
    const { clock, workerId, concurrency, pollMs } = this.#config
    const worker = new Worker({
      storage: this.#storage,
      clock,
      label: workerId,
      concurrency,
      pollMs,
      slotPauseMs: 0,
      loopBackoff: engineDefaults.loopBackoff,
      tell: this.#tell,
      types: [workOf(this.#config, handler, this.#tell)],
    })
    this.#worker = worker
    try {
      await worker.start()
    } catch (error) {
      if (this.#worker === worker) this.#worker = undefined
      throw error
    }
  }

  async #close(graceMs: number, storageMs: number): Promise<void> {
    const { clock } = this.#config
    const worker = this.#worker
    const grace = { graceMs, afterAbortMs: Math.min(engineDefaults.afterAbortMs, graceMs) }
    const leftMs = worker ? await worker.stop(grace) : storageMs
    this.#worker = undefined
    for (const stream of this.#streams) stream.end()
    const deadline = clock.monotonic() + leftMs
    try {
      await atMost(clock, leftMs, this.#waiters.close(this.#connection.stoppedError()))
      await atMost(clock, deadline - clock.monotonic(), this.#connection.stop())
    } catch (error) {
      this.#tellError(error)
    }
    emitSafely(this, this.#config.logger, 'stopped')
  }

  // ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Accepts a job unless its id is taken. Once it resolves, the job is in the storage; with `tx`, once that commits.
   * @throws INVALID_ARGUMENT, SerializationError, TOO_LARGE, StorageError, QUEUE_STOPPED, FEATURE_UNSUPPORTED
   */
  enqueue(id: string, payload: TPayload, options?: EnqueueOptions<Tx>): Promise<EnqueueResult<TResult>> {
    // Not async: that would cost each job a promise and a tick more.
    try {
      const given = options === undefined ? undefined : resolveOptions('enqueue', options, enqueueOptions)
      const job = this.#draft(id, payload, given)
      return given?.tx === undefined ? this.#add(job, this.#resultOfAdd) : this.#addIn(given.tx, job)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  /**
   * Accepts a job, or joins the one that has its id, and waits for what comes of it.
   * @throws as enqueue, and TimeoutError, JobFailedError, JobCancelledError, JobNotFoundError, or the signal's reason
   */
  async enqueueAndWait(id: string, payload: TPayload, options?: EnqueueAndWaitOptions): Promise<TResult> {
    const { timeout, signal, ...given } = resolveOptions('enqueueAndWait', options, waitOptions)
    signal?.throwIfAborted()
    const job = this.#draft(id, payload, given)
    try {
      return this.#resultOf(id, await this.#waiters.wait(id, () => this.#add(job, asIs), timeout, signal))
    } catch (error) {
      throw this.#connection.explain(error)
    }
  }

  /** Cancels a job that waits. One that runs is left alone or, with `abort`, asked to stop. */
  async cancel(id: string, options?: CancelOptions): Promise<CancelResult> {
    checkId(id)
    const { abort } = resolveOptions('cancel', options, cancelOptions)
    const [answer] = await this.#whenConnected(() => this.#storage.cancel([{ type: this.#type, id }], { abort }))
    const { verdict } = answer!
    if (verdict === 'cancelling') return { status: 'processing', aborting: true }
    if (verdict === 'cancelled') this.#tell({ name: 'cancelled', type: this.#type, id })
    return { status: verdict }
  }

  /** The result of a completed job (`undefined` if it has none), else null. */
  async getResult(id: string): Promise<TResult | null> {
    const record = await this.#get(id, ['result'])
    return record?.state === 'completed' ? decode('result', this.#config.resultSerde, record.result) : null
  }

  async getStatus(id: string): Promise<MessageStatus<TResult> | null> {
    const record = await this.#get(id, ['result', 'error'])
    return record ? statusOf(record, this.#config.resultSerde, this.#config.maxAttempts) : null
  }

  /** Result, error and id are kept until so long from now. */
  async updateResultTTL(id: string, ttlMs: number): Promise<UpdateResultTTLResult> {
    queueOptions.resultTTL.check('ttlMs', ttlMs)
    checkId(id)
    const [answer] = await this.#whenConnected(() =>
      this.#storage.remove([{ type: this.#type, id }], { afterMs: ttlMs }),
    )
    const { verdict } = answer!
    return { status: verdict === 'kept' ? 'updated' : verdict === 'not_terminal' ? 'not_terminal' : 'not_found' }
  }

  /** What happens to the jobs of this name, from now on. */
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

  /** Everything that can be refused is refused here, before anything is connected. */
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

  /** Alone, under a token of its own: others' jobs are not in this transaction. Nothing is told: it may yet roll back. */
  #addIn(tx: Tx, draft: Draft): Promise<EnqueueResult<TResult>> {
    const job: NewJob = { ...draft, token: this.#config.clock.newId() }
    return this.#whenConnected(async () => {
      const [verdict] = await this.#storage.add([job], tx)
      return enqueueResult(verdict!, this.#config.resultSerde)
    })
  }

  #tellAdded(answers: readonly Answer[]): void {
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

  #resultOf(id: string, end: WaitEnd): TResult {
    const { resultSerde } = this.#config
    if (end === 'gone') throw new JobNotFoundError(id)
    if ('standing' in end) return decode('result', resultSerde, end.standing.result)
    const { record } = end
    if (record.state === 'completed') return decode('result', resultSerde, record.result)
    if (record.state === 'cancelled') throw new JobCancelledError(id)
    throw new JobFailedError(id, attemptsOf(record), errorOf(record))
  }

  #emit(event: EngineEvent): void {
    if (event.name === 'released') emitSafely(this, this.#config.logger, 'released', event.id)
    const name = emittedNames[event.name]
    // Most events have no listener: their arguments are made only for one.
    if (name === undefined || (name !== 'error' && this.listenerCount(name) === 0)) return
    emitSafely(this, this.#config.logger, name, ...emittedArguments(event))
  }

  #tellError(error: unknown): void {
    this.#tell({ name: 'error', error: error as Error })
  }
}
