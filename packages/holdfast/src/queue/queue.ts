// The Queue: entry point for "run this once, later or elsewhere, and give me the result".
// Longer than other files because it is a façade: each method delegates in a few lines, with its documentation.

import { EventEmitter } from 'node:events'
import { atMost } from '../clock.ts'
import { Connection } from '../engine/connection.ts'
import { emitSafely } from '../engine/emit.ts'
import { type EngineEvent, isWatched, type PublishEvent, eventPublisher } from '../engine/events.ts'
import { type GuardedStorage, guardStorage } from '../engine/guard.ts'
import { type Health, healthOf } from '../engine/health.ts'
import type { BulkAction } from '../engine/operate/bulk-action.ts'
import { type BulkTarget, drainAll, redriveAll, type RedriveOptions } from '../engine/operate/bulk.ts'
import { type CancelOptions, type CancelResult, cancelResult } from '../engine/operate/cancel.ts'
import type { JobFilter, JobQuery } from '../engine/operate/job-filter.ts'
import type { JobPage } from '../engine/operate/list-jobs.ts'
import type { Explanation } from '../engine/explain/explanation.ts'
import { AddLimits, mayBeRefused, refusalOf } from '../engine/limits/add-limits.ts'
import { LimitsCalls, type LimitsInfo, type ReadLimitsOptions } from '../engine/limits/limits-calls.ts'
import { LimitsCopy } from '../engine/limits/limits-copy.ts'
import type { GroupLimitsPatch, LimitsPatch, SetLimitsOptions } from '../engine/limits/limits-options.ts'
import { Operations, writeLog } from '../engine/operate/operations.ts'
import { payloadCodec } from '../engine/operate/payload-codec.ts'
import {
  newTimeOf,
  type RescheduleOptions,
  type RescheduleResult,
  type RunNowOptions,
  runNowOptions,
} from '../engine/operate/reschedule.ts'
import { type RemoveResult, removeResult, type RetryResult, retryResult } from '../engine/operate/results.ts'
import type { TypeSummary } from '../engine/operate/type-summary.ts'
import type { WorkerInfo } from '../engine/work/presence.ts'
import { Adder, type Answer, type Draft } from '../engine/job/adder.ts'
import { type JobView, jobViewOf, viewParts } from '../engine/job/job-view.ts'
import { type JobLog, jobLogOf, type LogOptions } from '../engine/job/log-lines.ts'
import { decode } from '../engine/job/serde.ts'
import type { NewSchedule } from '../engine/schedule/schedule-store.ts'
import { Scheduler } from '../engine/schedule/scheduler.ts'
import { Lifecycle, type RunOptions } from '../engine/lifecycle.ts'
import { OpenStreams } from '../engine/open-streams.ts'
import { retryUntilReady } from '../engine/retry-until-ready.ts'
import { eventLog } from '../engine/log-events.ts'
import { installedTracing } from '../engine/tracing.ts'
import { isHoldfastError } from '../errors.ts'
import { checkId } from '../option-checks.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { AddVerdict, JobRecord, JobRef, NewJob, RecordPart } from '../storage/storage.ts'
import { abortedJob, abortedResult, resolveCancelOptions } from './cancel.ts'
import { draftOf, limited } from './draft.ts'
import { addInMoves, draftsOf, limitAll, type EnqueueItem, type EnqueueManyOptions } from './enqueue-many.ts'
import {
  type EnqueueAndWaitOptions,
  type EnqueueItemResult,
  type EnqueueOptions,
  type EnqueueResult,
  enqueueResult,
  itemResult,
  rejectDuplicate,
  waitStartOf,
} from './enqueue.ts'
import { type EventStream, type QueueEvent, queueStream } from './event-stream.ts'
import { HandlerWorker } from './handler-worker.ts'
import type { JobHandler } from './handler.ts'
import {
  enqueueManyOptions,
  drainOptions,
  enqueueOptions,
  listOptions,
  logOptions,
  pauseOptions,
  queueOptions,
  redriveFilterOptions,
  redriveOptions,
  runOptions,
  setLimitsOptions,
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
import type { DrainWaitingOptions, QueuePauseOptions } from './operating.ts'
import { declaredSchedules, queueSchedules, type QueueSchedules } from './schedules.ts'
import { type MessageStatus, statusOf, type UpdateResultTTLResult, updateTTLResult, waitedResult } from './status.ts'
import { endWith, sendSpan } from './tracing.ts'
import { Waits, type WaitStart } from './waits.ts'

/**
 * A queue of jobs of one kind: it stores them, runs them with its handler, and keeps their results. A process that only adds jobs
 * needs neither execute() nor start().
 *
 *     const mail = new Queue<{ to: string }, string>({ storage, name: 'mail', concurrency: 10 })
 *     mail.execute(async (job) => `sent to ${job.payload.to}`)
 *     await mail.start()
 *     await mail.enqueue('mail-1', { to: 'ada@example.com' }, { delayMs: 60_000 })
 *     await mail.stop()
 *
 * @typeParam TPayload what enqueue() takes and the handler gets
 * @typeParam TResult what the handler returns
 * @typeParam Tx transaction of the storage. Inferred, or named after the other two; else only the storage checks `tx`
 */
export class Queue<TPayload, TResult = void, Tx = unknown> extends EventEmitter<QueueEvents<TResult>> {
  /** Name of the queue. Queues of one name on one storage share their jobs. */
  readonly name: string
  /** Name of this worker, in records and events. */
  readonly workerId: string
  readonly #config: ResolvedQueueConfig<TPayload, TResult>
  readonly #storage: GuardedStorage
  readonly #connection: Connection
  readonly #publishEvent: PublishEvent
  readonly #adder: Adder
  readonly #waits: Waits
  readonly #handlerWorker: HandlerWorker<TPayload, TResult>
  readonly #streams = new OpenStreams<QueueEvent>()
  readonly #lifecycle: Lifecycle<number>
  readonly #operations: Operations
  readonly #limitsCopy: LimitsCopy
  readonly #addLimits: AddLimits
  readonly #limitsCalls: LimitsCalls
  readonly #type: string
  #scheduler: Scheduler | undefined
  readonly #declared: readonly NewSchedule[] | undefined
  /** Its schedules: put, list, pause, fire and preview them. */
  readonly schedules: QueueSchedules<TPayload>

  readonly #resultOfAdd = (verdict: AddVerdict): EnqueueResult<TResult> =>
    enqueueResult(verdict, this.#config.resultSerde)

  readonly #resultOrReject = (verdict: AddVerdict): EnqueueResult<TResult> =>
    enqueueResult(rejectDuplicate(verdict), this.#config.resultSerde)

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(config: QueueConfig<TPayload, TResult, Tx>) {
    super()
    this.#config = resolveQueueConfig(config)
    const { name, type, workerId, clock, storage, logger } = this.#config
    this.name = name
    this.#type = type
    this.workerId = workerId
    const log = eventLog(logger, `queue '${name}'`)
    this.#publishEvent = eventPublisher((event) => {
      log?.(event)
      this.#emit(event)
    })
    this.#storage = guardStorage(storage, clock, this.#publishEvent)
    this.#connection = new Connection(this.#storage, name)
    const add = (jobs: readonly NewJob[]): Promise<AddVerdict[]> => {
      this.#addLimits.look()
      return this.#storage.add(jobs)
    }
    this.#adder = new Adder(
      clock.newId(),
      add,
      storage.settings.addsPerCall,
      (answers) => this.#publishAdded(answers),
      (error) => this.#connection.explain(error),
    )
    this.#limitsCopy = new LimitsCopy({
      storage: this.#storage,
      clock,
      types: [this.#config],
      release: this.#config.release,
    })
    this.#addLimits = new AddLimits(this.#limitsCopy, { clock, storage, waits: this.#config.limits !== undefined })
    this.#handlerWorker = new HandlerWorker(
      this.#config,
      this.#storage,
      this.#limitsCopy,
      this.#publishEvent,
      ({ id, token }, result) => this.#waits.onCompleted(id, token, result),
    )
    this.#waits = new Waits({
      storage: this.#storage,
      connection: this.#connection,
      clock,
      type,
      publishEvent: this.#publishEvent,
    })
    const operating = {
      storage: this.#storage,
      clock,
      whenConnected: <T>(call: () => Promise<T>) => this.#whenConnected(call),
      log: writeLog(logger, `queue '${name}'`),
    }
    const codec = payloadCodec(this.#config.payloadSerde, this.#config.maxPayloadBytes)
    this.#operations = new Operations({ ...operating, codec, publishEvent: this.#publishEvent })
    this.#limitsCalls = new LimitsCalls(operating)
    this.#declared = declaredSchedules(this.#config)
    this.schedules = queueSchedules(this.#config, this.#storage, this.#publishEvent, (call) =>
      this.#whenConnected(call),
    )
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

  /**
   * Returns whether the queue runs jobs, and why not: the storage is unavailable, claims fail, handlers are abandoned, or it was
   * not started. Makes no call to the storage. `healthHandler(queue)` shows it over HTTP.
   */
  health(): Health {
    const { isReady } = this.#lifecycle
    return healthOf(`queue '${this.name}'`, isReady, this.#storage.unansweredMs(), this.#handlerWorker.state)
  }

  /** Stops the queue with the defaults of stop(), at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /**
   * Sets the handler, before or after start(). It returns the result, or throws to fail the run. A job may run again after a crash, so
   * make it idempotent. A queue without a handler accepts jobs and runs none.
   * @throws HANDLER_ALREADY_SET, INVALID_ARGUMENT
   */
  execute(handler: JobHandler<TPayload, TResult>): void {
    this.#handlerWorker.setHandler(handler)
    const { signal } = this.#lifecycle
    if (!signal) return
    void this.#lifecycle.start().then(
      () => this.#startLater(signal),
      () => {},
    )
  }

  /** For an execute() after start(), which has no promise to reject: every failure is retried. */
  async #startLater(signal: AbortSignal): Promise<void> {
    const { clock } = this.#config
    const onFailure = (error: Error): void => this.#publishError(error)
    await this.#handlerWorker.startUntilReady(signal)
    await retryUntilReady(() => this.#startScheduler(signal), { clock, signal, onFailure, always: true })
  }

  async #open(signal: AbortSignal): Promise<void> {
    const connected = await this.#connection.start()
    // A stop that did not wait for this start gives the reference back, or leaves it to a later start.
    if (signal.aborted) return
    try {
      await this.#startScheduler(signal)
      // A queue without a handler stores what it declares, too. With one, the worker does.
      if (this.#config.limits && !this.#handlerWorker.hasHandler) await this.#limitsCopy.declare()
      await this.#handlerWorker.start(signal)
    } catch (error) {
      if (!signal.aborted) {
        await this.#stopScheduler()
        if (connected) await this.#connection.close().catch((problem) => this.#publishError(problem))
      }
      throw error
    }
    if (!signal.aborted) emitSafely(this, this.#config.logger, 'started')
  }

  /** A producer, which has no handler and declares no schedule, fires none: it makes no call but its own. */
  async #startScheduler(signal: AbortSignal): Promise<void> {
    if (this.#scheduler || signal.aborted || !(this.#declared || this.#handlerWorker.hasHandler)) return
    const scheduler = this.#newScheduler()
    this.#scheduler = scheduler
    try {
      await scheduler.start()
    } catch (error) {
      // A stop that did not wait for this start has stopped it, and a later start may have another.
      if (this.#scheduler === scheduler) await this.#stopScheduler()
      throw error
    }
  }

  #newScheduler(): Scheduler {
    const { clock, release, pollMs } = this.#config
    return new Scheduler({
      storage: this.#storage,
      clock,
      owner: this.#type,
      isServed: (type) => type === this.#type,
      declared: this.#declared,
      release,
      polls: pollMs !== Infinity,
      publishEvent: this.#publishEvent,
    })
  }

  async #stopScheduler(): Promise<void> {
    const scheduler = this.#scheduler
    this.#scheduler = undefined
    await scheduler?.stop().catch((error: unknown) => this.#publishError(error))
  }

  async #close(graceMs: number, storageMs: number): Promise<void> {
    const { clock } = this.#config
    const unscheduled = this.#stopScheduler()
    const leftMs = (await this.#handlerWorker.stop(graceMs)) ?? storageMs
    this.#streams.end()
    const deadline = clock.monotonic() + leftMs
    try {
      await atMost(clock, leftMs, unscheduled)
      await atMost(clock, deadline - clock.monotonic(), this.#waits.close(this.#connection.stoppedError()))
      await atMost(clock, deadline - clock.monotonic(), this.#connection.stop())
    } catch (error) {
      this.#publishError(error)
    }
    this.#storage.endRepeats()
    emitSafely(this, this.#config.logger, 'stopped')
  }

  // ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Adds a job, unless its id or deduplication key is taken. When the promise resolves, the job is in the storage; with `tx`, when
   * the transaction commits.
   * @throws INVALID_ARGUMENT, SerializationError, TOO_LARGE, QueueFullError, GROUP_KIND, StorageError, QUEUE_STOPPED,
   * FEATURE_UNSUPPORTED, and with `onDuplicate: 'reject'` DuplicateJobError
   */
  enqueue(id: string, payload: TPayload, options?: EnqueueOptions<Tx>): Promise<EnqueueResult<TResult>> {
    // Not async: that would cost each call one more promise and tick.
    try {
      if (options === undefined) return this.#add(draftOf(id, payload, undefined, this.#config), this.#resultOfAdd)
      const given = resolveOptions('enqueue', options, enqueueOptions)
      const job = draftOf(id, payload, given, this.#config)
      const answerOf = given.onDuplicate === 'reject' ? this.#resultOrReject : this.#resultOfAdd
      return given.tx === undefined ? this.#add(job, answerOf) : this.#addIn(given.tx, job, answerOf)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  /**
   * Adds any number of jobs, in order, and returns one answer per item, also for an item that the limits or its group refuse. They are
   * added in moves of at most 1,000, each atomic; with `tx`, all of them when the transaction commits. A wrong item rejects the call
   * before anything is written.
   * @throws as enqueue(), with the index of the item; BatchInterruptedError if some items were added, and the next move failed
   */
  async enqueueMany(
    items: readonly EnqueueItem<TPayload>[],
    options?: EnqueueManyOptions<Tx>,
  ): Promise<EnqueueItemResult<TResult>[]> {
    const { tx } = resolveOptions('enqueueMany', options, enqueueManyOptions)
    const drafts = draftsOf(items, this.#config)
    const { clock, resultSerde } = this.#config
    await this.#whenConnected(async () =>
      tx === undefined ? this.#addLimits.ready() : this.#addLimits.readyInTransaction(),
    )
    limitAll(drafts, this.#addLimits, clock)
    const span = sendSpan(this.name, drafts)
    const added = addInMoves(
      drafts,
      tx !== undefined,
      () => clock.newId(),
      (jobs) => this.#addMove(jobs, tx),
    )
    const verdicts = await (span ? endWith(span, added) : added)
    return verdicts.map((verdict, index) => itemResult(verdict, drafts[index]!, resultSerde))
  }

  /**
   * Adds a job, or joins the one that has its id or deduplication key, and waits for its result: 30_000 ms by default.
   * @throws as enqueue(), and TimeoutError, JobFailedError, JobCancelledError, JobNotFoundError, or the signal's reason; for a stale
   * version DuplicateJobError
   */
  enqueueAndWait(id: string, payload: TPayload, options?: EnqueueAndWaitOptions): Promise<TResult> {
    // Not async, as enqueue().
    try {
      if (options === undefined) {
        return this.#addAndWait(draftOf(id, payload, undefined, this.#config), waitStartOf, waitOptions.timeout.default)
      }
      const { timeout, signal, ...given } = resolveOptions('enqueueAndWait', options, waitOptions)
      signal?.throwIfAborted()
      const job = draftOf(id, payload, given, this.#config)
      const startOf = given.onDuplicate === 'reject' ? waitStartOrReject : waitStartOf
      return this.#addAndWait(job, startOf, timeout, signal)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  #addAndWait(
    job: Draft,
    startOf: (verdict: AddVerdict) => WaitStart,
    timeout: number,
    signal?: AbortSignal,
  ): Promise<TResult> {
    return this.#waits
      .wait(job.id, () => this.#add(job, startOf), timeout, signal)
      .then(
        (end) => waitedResult(job.id, end, this.#config.resultSerde),
        (error: unknown) => {
          throw this.#connection.explain(error)
        },
      )
  }

  /**
   * Cancels a waiting job. A running job is left alone; with `abort`, its signal aborts; with `force`, it ends at once.
   * @throws INVALID_ARGUMENT, StorageError, QUEUE_STOPPED
   */
  async cancel(id: string, options?: CancelOptions): Promise<CancelResult> {
    checkId(id)
    const { waitMs, ...given } = resolveCancelOptions(options)
    const [answer] = await this.#whenConnected(() => this.#storage.cancel([{ type: this.#type, id }], given))
    const result = cancelResult(answer!)
    if (result.status === 'cancelled') this.#publishEvent({ name: 'cancelled', type: this.#type, id })
    return answer!.verdict === 'cancelling' && waitMs > 0 ? this.#waitForAbort(id, waitMs, result) : result
  }

  /** Returns the state that the aborted job reached, or the answer so far if it did not end in time. */
  async #waitForAbort(id: string, waitMs: number, soFar: CancelResult): Promise<CancelResult> {
    try {
      return abortedResult(await this.#waits.wait(id, async () => abortedJob(await this.#get(id, [])), waitMs))
    } catch (error) {
      if (isHoldfastError(error, 'TIMEOUT')) return soFar
      throw this.#connection.explain(error)
    }
  }

  /**
   * Gives a waiting job another time: `runAt` or `delayMs`. It goes behind the jobs that are due then. With `tx`, it is moved when the
   * transaction commits.
   * @throws INVALID_ARGUMENT, StorageError, QUEUE_STOPPED, FEATURE_UNSUPPORTED
   */
  async reschedule(id: string, options: RescheduleOptions<Tx>): Promise<RescheduleResult> {
    return this.#operations.moveOne(this.#ref(id), newTimeOf('reschedule', options))
  }

  /** Makes a waiting job due now, whether it waits for its time or for a retry. @throws as reschedule() */
  async runNow(id: string, options?: RunNowOptions<Tx>): Promise<RescheduleResult> {
    return this.#operations.moveOne(this.#ref(id), resolveOptions('runNow', options, runNowOptions))
  }

  /**
   * Returns the whole job: payload, result, error, progress, the last runs, and its times. Returns null if its id is unknown or its
   * record has expired. A part that cannot be decoded is in `undecodable`, as bytes.
   * @throws INVALID_ARGUMENT, StorageError, QUEUE_STOPPED
   */
  async get(id: string): Promise<JobView<TPayload, TResult> | null> {
    const record = await this.#get(id, viewParts)
    return record ? jobViewOf(record, this.#config) : null
  }

  /**
   * Returns the lines that the runs of a job logged, oldest first, or null if its id is unknown. To follow a running job, pass the
   * number of the last line as `after`.
   * @throws INVALID_ARGUMENT, StorageError, QUEUE_STOPPED
   */
  async logs(id: string, options?: LogOptions): Promise<JobLog | null> {
    const filter = resolveOptions('logs', options, logOptions)
    const log = (await this.#get(id, ['log']))?.log
    return log ? jobLogOf(log, filter) : null
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
    return this.#streams.open((onEnd) => queueStream(listen, this.#type, this.#config.clock, onEnd), signal)
  }

  // ── operating ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Lists jobs of this queue, a page at a time. @throws INVALID_ARGUMENT, StorageError, QUEUE_STOPPED */
  async list(query?: JobQuery): Promise<JobPage<TPayload>> {
    const page = await this.#operations.list(resolveOptions('list', query, listOptions), [this.#type])
    return page as JobPage<TPayload>
  }

  /** Counts the jobs of this queue by state, and shows how long the oldest has waited and what is paused. @throws as list() */
  async counts(): Promise<TypeSummary> {
    const [summary] = await this.#operations.summaries([this.#type])
    return summary!
  }

  /** Says why a job waits, runs or is gone: reasons with a code and a sentence, the decisive one first. @throws as list() */
  async explain(id: string): Promise<Explanation> {
    const { limits, release } = this.#config
    return this.#operations.explain(this.#ref(id), { limits, release })
  }

  /** Makes a failed or cancelled job due now, with its attempts counted anew. @throws as list() */
  async retry(id: string): Promise<RetryResult> {
    const [answer] = await this.#operations.retry([this.#ref(id)])
    return retryResult(answer!)
  }

  /** Deletes the record of an ended job. @throws as list() */
  async remove(id: string): Promise<RemoveResult> {
    const [answer] = await this.#operations.remove([this.#ref(id)])
    return removeResult(answer!)
  }

  /**
   * Pauses this queue, or a group of it, until resume(): no process claims its jobs. What runs goes on, and jobs are
   * accepted. @param options.by name of the operator, which counts() shows @throws as list()
   */
  async pause(options?: QueuePauseOptions): Promise<void> {
    const { group, by } = resolveOptions('pause', options, pauseOptions)
    await this.#operations.pause(this.#type, true, group, by)
  }

  /** Ends a pause. @throws as list() */
  async resume(options?: QueuePauseOptions): Promise<void> {
    const { group, by } = resolveOptions('resume', options, pauseOptions)
    await this.#operations.pause(this.#type, false, group, by)
  }

  /**
   * Returns the limits of this queue: what code declares, what an operator set, what is in force, and how much of it is used.
   * @throws as list()
   */
  limits(options?: ReadLimitsOptions): Promise<LimitsInfo> {
    return this.#limitsCalls.get(this.#type, options, this.#config)
  }

  /**
   * Sets limits over those of the code, field by field, for all processes: promptly, and within 5 s if a hint is lost. A null removes what
   * was set before, for one field or for all. With `group`, for that group alone.
   * @param options.by name of the operator, which limits() shows @throws as list()
   */
  setLimits(patch: LimitsPatch | null, options?: SetLimitsOptions & { readonly group?: undefined }): Promise<void>
  setLimits(patch: GroupLimitsPatch | null, options: SetLimitsOptions & { readonly group: string }): Promise<void>
  async setLimits(patch: LimitsPatch | GroupLimitsPatch | null, options?: SetLimitsOptions): Promise<void> {
    await this.#limitsCalls.set(this.#type, patch, resolveOptions('setLimits', options, setLimitsOptions))
  }

  /** Runs failed jobs again: those that match when it begins, at most `perSecond`, with what `edit` makes of their payloads. @throws INVALID_ARGUMENT */
  redrive(filter?: Omit<JobFilter, 'states'>, options?: RedriveOptions<TPayload>): BulkAction {
    const resolved = resolveOptions('redrive', filter, redriveFilterOptions)
    return redriveAll(this.#operations, this.#matching(resolved), resolveOptions('redrive', options, redriveOptions))
  }

  /** Cancels every job that waits; with `remove`, deletes their records, too. Running jobs go on. @throws INVALID_ARGUMENT */
  drainWaiting(options?: DrainWaitingOptions): BulkAction {
    return drainAll(this.#operations, this.#matching({}), resolveOptions('drainWaiting', options, drainOptions))
  }

  /** Returns the workers of this queue that are alive, in all processes. @throws as list() */
  workers(): Promise<WorkerInfo[]> {
    return this.#operations.workers(this.#type)
  }

  #ref(id: string): JobRef {
    checkId(id)
    return { type: this.#type, id }
  }

  #matching(filter: JobFilter): BulkTarget {
    return { filter, types: async () => [this.#type] }
  }

  #add<T>(job: Draft, answerOf: (verdict: AddVerdict) => T): Promise<T> {
    // Nearly no process has telemetry: then the call costs nothing for it.
    const span = installedTracing() && sendSpan(this.name, [job])
    return span ? endWith(span, this.#addUntraced(job, answerOf)) : this.#addUntraced(job, answerOf)
  }

  #addUntraced<T>(job: Draft, answerOf: (verdict: AddVerdict) => T): Promise<T> {
    if (!this.#connection.isOpen) return this.#whenConnected(() => this.#addConnected(job, answerOf))
    return this.#addConnected(job, answerOf)
  }

  #addConnected<T>(job: Draft, answerOf: (verdict: AddVerdict) => T): Promise<T> {
    const wait = this.#addLimits.ready()
    if (!wait) return this.#addLimited(job, answerOf)
    return wait.then(
      () => this.#addLimited(job, answerOf),
      (error: unknown) => Promise.reject<T>(this.#connection.explain(error) as Error),
    )
  }

  #addLimited<T>(job: Draft, answerOf: (verdict: AddVerdict) => T): Promise<T> {
    limited(job, this.#addLimits, this.#config.clock)
    return this.#adder.add(job, acceptedOr(job, answerOf))
  }

  /** Adds one job under its own token: a batch may not mix transactions. Publishes nothing: the transaction may roll back. */
  #addIn<T>(tx: Tx, job: Draft, answerOf: (verdict: AddVerdict) => T): Promise<T> {
    job.token ??= this.#config.clock.newId()
    const span = sendSpan(this.name, [job])
    const added = this.#whenConnected(async () => {
      this.#addLimits.readyInTransaction()
      this.#addLimits.apply(job)
      const [verdict] = await this.#storage.add([job as NewJob], tx)
      return acceptedOr(job, answerOf)(verdict!)
    })
    return span ? endWith(span, added) : added
  }

  /** One move of enqueueMany(). */
  #addMove(jobs: readonly NewJob[], tx: Tx | undefined): Promise<AddVerdict[]> {
    return this.#whenConnected(async () => {
      if (tx === undefined) this.#addLimits.look()
      const verdicts = await this.#storage.add(jobs, tx)
      if (tx === undefined) this.#publishAdded(verdicts)
      return verdicts
    })
  }

  #publishAdded(answers: readonly Answer[]): void {
    if (!isWatched() && this.listenerCount('enqueued') === 0) return
    for (const answer of answers) {
      if ('verdict' in answer && (answer.verdict === 'added' || answer.verdict === 'replaced')) {
        this.#publishEvent({ name: 'added', type: this.#type, id: answer.job.id })
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
    // First, because nearly every job emits this one.
    if (event.name === 'completed') {
      if (this.listenerCount('completed') > 0) {
        emitSafely(this, this.#config.logger, 'completed', event.id, event.result)
      }
      return
    }
    if (event.name === 'released') emitSafely(this, this.#config.logger, 'released', event.id)
    const name = emittedNames[event.name]
    // Most events have no listener: their arguments are built only for one.
    if (name === undefined || (name !== 'error' && this.listenerCount(name) === 0)) return
    emitSafely(this, this.#config.logger, name, ...emittedArguments(event))
  }

  #publishError(error: unknown): void {
    this.#publishEvent({ name: 'error', error: error as Error })
  }
}

/** @returns the same function for a job that is never refused, which is nearly every one */
function acceptedOr<T>(job: Draft, answerOf: (verdict: AddVerdict) => T): (verdict: AddVerdict) => T {
  if (!mayBeRefused(job)) return answerOf
  return (verdict) => {
    const refusal = refusalOf(verdict, job)
    if (refusal) throw refusal
    return answerOf(verdict)
  }
}

const waitStartOrReject = (verdict: AddVerdict): WaitStart => waitStartOf(rejectDuplicate(verdict))
