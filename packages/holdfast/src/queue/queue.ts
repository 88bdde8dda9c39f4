// The Queue: the door to the engine for "do this once, later or elsewhere, and tell me what came of it".
// Longer than other files because it is the door: each method is a few lines that hand on, with its documentation.

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
import {
  cancelOptions,
  engineDefaults,
  enqueueOptions,
  queueOptions,
  stopOptions,
  streamOptions,
  waitOptions,
} from '../engine/options.ts'
import { resolveOptions } from '../resolve-options.ts'
import { type QueueConfig, type ResolvedQueueConfig, resolveQueueConfig } from './queue-config.ts'
import { emittedArguments, emittedNames, type QueueEvents } from './queue-events.ts'
import { type GuardedStorage, guardStorage } from '../engine/guard.ts'
import type { AddVerdict, JobRecord, NewJob, RecordPart } from '../storage/storage.ts'
import { type JobHandler, workOf } from './execute.ts'
import { Worker } from '../engine/work/worker.ts'

export type CancelResult =
  | { status: 'cancelled' | 'not_found' | 'completed' | 'failed' }
  | { status: 'processing'; aborting?: true }

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
  #handler: JobHandler<TPayload, TResult> | undefined
  #worker: Worker | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  /** Those that waited for a start, or gave it up: by it a start knows that its time is over. */
  #stops = 0

  readonly #resultOfAdd = (verdict: AddVerdict): EnqueueResult<TResult> =>
    enqueueResult(verdict, this.#config.resultSerde)

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(config: QueueConfig<TPayload, TResult, Tx>) {
    super()
    this.#config = resolveQueueConfig(config)
    const { name, workerId, clock, storage } = this.#config
    this.name = name
    this.workerId = workerId
    this.#tell = teller((event) => this.#heed(event))
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
      type: name,
      tell: this.#tell,
    })
  }

  // ── life-cycle ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Connects and, with a handler, begins to work. Idempotent. @throws StorageError; the next start tries afresh */
  start(): Promise<void> {
    if (this.#starting) return this.#starting
    const starting: Promise<void> = this.#start().catch((error: unknown) => {
      // After a stop it may be another's.
      if (this.#starting === starting) this.#starting = undefined
      throw error
    })
    this.#starting = starting
    return starting
  }

  /**
   * Takes no new job, lets handlers run for `timeout` ms, aborts them, releases what is unfinished, and disconnects.
   * Always returns, within timeout + 5.5 s. @param options.timeout default 30_000
   */
  stop(options?: { readonly timeout?: number }): Promise<void> {
    try {
      const { timeout } = resolveOptions('stop', options, stopOptions)
      // A start that waits for the stop under way is stopped in its turn.
      if (this.#stopping && this.#starting) return this.#stopping.then(() => this.stop(options))
      this.#stopping ??= this.#stop(timeout).finally(() => (this.#stopping = undefined))
      return this.#stopping
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  /** Sets the handler, before or after start(). @throws HANDLER_ALREADY_SET, INVALID_ARGUMENT */
  execute(handler: JobHandler<TPayload, TResult>): void {
    if (typeof handler !== 'function') throw invalidArgument('handler', 'a function', handler)
    if (this.#handler) throw new HoldfastError('HANDLER_ALREADY_SET', `the queue '${this.name}' has a handler already`)
    this.#handler = handler
    const starting = this.#starting
    starting?.then(() => this.#workWhile(starting)).catch(() => {})
  }

  /** Of an execute() after start(): nobody is there to try again, so it is tried until it works. */
  async #workWhile(starting: Promise<void>): Promise<void> {
    while (this.#starting === starting) {
      try {
        return await this.#work()
      } catch (error) {
        this.#tellError(error)
        await new Promise<void>(
          (resolve) => void this.#config.clock.after(engineDefaults.longestRetryMs, resolve, { keepsAlive: false }),
        )
      }
    }
  }

  async #start(): Promise<void> {
    await this.#stopping
    const stops = this.#stops
    const connected = await this.#connection.start()
    // A stop that gave this start up gives its count back, or leaves it to a later start.
    if (this.#stops !== stops) return
    try {
      await this.#work()
    } catch (error) {
      if (connected && this.#stops === stops)
        await this.#connection.close().catch((problem) => this.#tellError(problem))
      throw error
    }
    if (this.#stops === stops) emitSafely(this, this.#config.logger, 'started')
  }

  async #work(): Promise<void> {
    const handler = this.#handler
    if (!handler || this.#worker || this.#stopping) return
    const { clock, workerId, concurrency, blockTimeout } = this.#config
    const worker = new Worker({
      storage: this.#storage,
      clock,
      label: workerId,
      concurrency,
      pollMs: 1_000 * blockTimeout,
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

  async #stop(timeout: number): Promise<void> {
    const { clock } = this.#config
    const starting = this.#starting
    this.#starting = undefined
    const begunAt = clock.monotonic()
    if (starting) await atMost(clock, engineDefaults.stopWritesMs, starting).catch(() => {})
    this.#stops++
    const worker = this.#worker
    const grace = { graceMs: timeout, afterAbortMs: Math.min(engineDefaults.afterAbortMs, timeout) }
    const leftMs = worker
      ? await worker.stop(grace)
      : Math.max(0, begunAt + engineDefaults.stopWritesMs - clock.monotonic())
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
  async cancel(id: string, options?: { readonly abort?: boolean }): Promise<CancelResult> {
    checkId(id)
    const { abort } = resolveOptions('cancel', options, cancelOptions)
    const [answer] = await this.#whenConnected(() => this.#storage.cancel([{ type: this.name, id }], { abort }))
    const { verdict } = answer!
    if (verdict === 'cancelling') return { status: 'processing', aborting: true }
    if (verdict === 'cancelled') this.#tell({ name: 'cancelled', type: this.name, id })
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
      this.#storage.remove([{ type: this.name, id }], { afterMs: ttlMs }),
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
    const stream = new LiveStream(listen, this.name, this.#config.clock, () => {
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
    return draftOf(this.name, id, bytes, options, this.#config)
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
        this.#tell({ name: 'added', type: this.name, id: answer.job.id })
      }
    }
  }

  async #get(id: string, parts: readonly RecordPart[]): Promise<JobRecord | undefined> {
    checkId(id)
    const [record] = await this.#whenConnected(() => this.#storage.get([{ type: this.name, id }], { parts }))
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

  #heed(event: EngineEvent): void {
    const name = emittedNames[event.name]
    // Most events are nobody's business: what they say is put together only for a listener.
    if (name === undefined || (name !== 'error' && this.listenerCount(name) === 0)) return
    emitSafely(this, this.#config.logger, name, ...emittedArguments(event))
  }

  #tellError(error: unknown): void {
    this.#tell({ name: 'error', error: error as Error })
  }
}
