// Tasks: typed functions that run later and, with a deduplication key, once.
// Longer than other files because it is a façade: each method delegates in a few lines, with its documentation.

import { atMost } from '../clock.ts'
import { engineDefaults } from '../engine/defaults.ts'
import { type Health, healthOf, healthOfAll } from '../engine/health.ts'
import type { RunOptions, StopOptions } from '../engine/lifecycle.ts'
import { Lifecycle } from '../engine/lifecycle.ts'
import { mayPass, retryUntilReady } from '../engine/retry-until-ready.ts'
import type { Scheduler } from '../engine/schedule/scheduler.ts'
import { HoldfastError, invalidArgument, usageError } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { ReviveVerdict } from '../storage/storage.ts'
import { type DefinedTask, Definitions, type TaskDefinition, type TaskOptions } from './define.ts'
import {
  type EnqueueManyResult,
  type EnqueueTaskResult,
  prepare,
  type Prepared,
  send,
  type TaskEnqueueManyOptions,
  type TaskEnqueueOptions,
} from './enqueue.ts'
import { QueueListeners } from './listeners.ts'
import { runOptions, startOptions, stopOptions } from './options.ts'
import { type Processing, processTask } from './process.ts'
import {
  cancelTask,
  countTasks,
  depthOf,
  type FailedTask,
  failedTasks,
  getTask,
  reviveTasks,
  type StoredTask,
} from './operate.ts'
import { batchItems } from './queue/batch.ts'
import type { CancelOptions, CancelResult } from '../engine/operate/cancel.ts'
import type { MessageQueue, StorageQueueDepth } from './queue/message-queue.ts'
import { Queues } from './queue/queues.ts'
import { limitedQueue, StorageMessageQueue } from './queue/storage-message-queue.ts'
import type { MessageCounts } from './queue/stored-message.ts'
import { StorageKvStore } from './kv/storage-kv-store.ts'
import { policyOf } from './retry.ts'
import type { InferInput, InferOutput, StandardSchemaV1 } from './schema.ts'
import { schedulerOf, taskSchedules, type TaskSchedules } from './schedules.ts'
import { resolveTasksOptions, type TasksOptions } from './tasks-options.ts'
import { type TaskEvent, TaskEvents, type TaskListener } from './telemetry/events.ts'
import { logTo } from './telemetry/log.ts'

/**
 * Makes tasks over a storage, or over message queues of yours. Define them with defineTask(), add them with enqueueTask(), and run
 * them between start() and stop().
 *
 *     const tasks = createTasks({ storage })
 *     const mail = tasks.defineTask('mail', { schema: z.object({ to: z.email() }), handler: async ({ id }, { to }) => { … } })
 *     await tasks.enqueueTask(mail, { to: 'ada@example.com' })
 *
 * @throws TypeError INVALID_ARGUMENT
 */
export function createTasks(options: TasksOptions): Tasks {
  return new TaskFace(options)
}

/** A wrong call of a method that returns a promise rejects; of any other, throws. */
export interface Tasks extends AsyncDisposable {
  /** @throws TypeError INVALID_TASK_NAME, TASK_ALREADY_DEFINED, INVALID_SCHEMA, INVALID_ARGUMENT */
  defineTask<S extends StandardSchemaV1>(
    name: string,
    options: TaskOptions<S>,
  ): TaskDefinition<InferInput<S>, InferOutput<S>>
  /**
   * Sends one task. Once it resolves, the queue has it.
   * @throws TypeError DEDUPLICATION_UNAVAILABLE at once, with the fallback `closed`; rejects with the other TypeErrors,
   * SCHEMA_REJECTED, SERIALIZATION_ERROR, TOO_LARGE, KV_FAILED, QUEUE_FULL, GROUP_KIND, CLOSED, or the queue's own error
   */
  enqueueTask<I>(
    task: TaskDefinition<I, any>,
    data: NoInfer<I>,
    options?: TaskEnqueueOptions,
  ): Promise<EnqueueTaskResult>
  /**
   * Sends any number of tasks, and returns one id for each, in order. All payloads are validated and encoded before the first is
   * sent; an error about one of them has its `index`. A storage's queue stores up to 1,000 tasks whole or not at all, and more in
   * moves of 1,000. With a deduplication key: all tasks or none, at most 10,000.
   * @throws as enqueueTask; BATCH_INTERRUPTED if only the tasks before its `accepted` are stored: a call with its `resume` sends the
   * rest
   */
  enqueueTaskMany<I>(
    task: TaskDefinition<I, any>,
    payloads: readonly NoInfer<I>[],
    options?: TaskEnqueueManyOptions,
  ): Promise<EnqueueManyResult>
  // The next six need a queue over a Holdfast storage.
  /** Counts the tasks that wait: due (`ready`), not yet due (`delayed`), and both (`queued`). @throws FEATURE_UNSUPPORTED */
  getDepth(): Promise<StorageQueueDepth>
  /** Counts the tasks by state. @throws FEATURE_UNSUPPORTED, StorageError */
  counts(): Promise<MessageCounts>
  /** Lists the tasks that failed for good, oldest first, with name, data and error. @throws FEATURE_UNSUPPORTED, StorageError */
  failed(): AsyncIterable<FailedTask>
  /**
   * Runs failed and cancelled tasks again. Their attempts are counted anew, and they keep their place in their ordering key.
   * @returns a verdict for each id, in order @throws FEATURE_UNSUPPORTED, INVALID_ARGUMENT, StorageError
   */
  revive(ids: readonly string[]): Promise<ReviveVerdict[]>
  /** Returns a task with its state, runs and error, or null: a completed task is deleted at once. @throws as revive */
  get(id: string): Promise<StoredTask | null>
  /** Cancels a task that waits, and by `abort` or `force` one that runs. @throws as revive */
  cancel(id: string, options?: CancelOptions): Promise<CancelResult>
  /** The schedules of tasks: put, list, pause, fire and preview them. */
  readonly schedules: TaskSchedules
  /**
   * Listens on every distinct queue. Resolves when all are ready; a storage that is unavailable is retried until then. A foreign
   * queue counts as ready once its listen() was called. Idempotent.
   * @param options.signal stops it, as stop() does
   * @throws NO_TASK_QUEUE, CLOSED, a StorageError that time cannot mend, or what a foreign listen() rejects with at once
   */
  start(options?: { readonly signal?: AbortSignal | undefined }): Promise<void>
  /** Starts, and resolves once it was stopped. @param options.signal stops it @throws as start; also what a foreign listen() rejects with later */
  run(options?: RunOptions): Promise<void>
  /**
   * Takes no new message, lets handlers run for `graceMs`, and releases what is unfinished. start() may follow again.
   * @param options.graceMs default: that of each queue, 30_000
   */
  stop(options?: StopOptions): Promise<void>
  /** Stops, and closes the queue and the store that `storage` made. Later calls reject with CLOSED. The same as `await using`. */
  close(): Promise<void>
  /** Returns whether its queues run messages, and why not. A foreign queue has no health of its own. Makes no call. */
  health(): Health
  /** Runs one attempt, for platforms that push messages. */
  processMessage(message: unknown): Promise<void>
  /** @returns a function that ends the subscription @throws TypeError INVALID_ARGUMENT */
  on(event: TaskEvent['name'], listener: TaskListener): () => void
}

class TaskFace implements Tasks {
  readonly #env: Processing
  readonly #owned: { close(): Promise<void> }[] = []
  readonly #lifecycle: Lifecycle<number | undefined>
  readonly #listeners: QueueListeners
  readonly #release: number
  #scheduler: Scheduler | undefined
  readonly schedules: TaskSchedules
  /** Why it stopped by itself. */
  #failure: { readonly error: unknown } | undefined
  #closed = false
  #warned = false

  constructor(options: TasksOptions) {
    const resolved = resolveTasksOptions(options)
    const { storage, clock, logger, retry, timeoutMs, presenceMs, prefetchMs, ownQueue } = resolved
    const log = logTo(logger)
    const onError = (error: Error): void => log.error({ err: error }, `tasks: ${error.message}`)
    const retryPolicy = policyOf(retry, clock, onError)
    const own = <T extends { close(): Promise<void> }>(made: T): T => (this.#owned.push(made), made)
    const queue =
      resolved.queue ??
      (storage &&
        own(new StorageMessageQueue(storage, { ...ownQueue, retryPolicy, presenceMs, prefetchMs, clock, logger })))
    const queues = new Queues(queue, resolved.taskQueueResolution)
    this.#env = {
      definitions: new Definitions({
        retry,
        timeoutMs,
        clock,
        onError,
        limitedQueue: (task, limits) => own(limitedQueue(queues.main, task, limits, resolved.release)),
      }),
      queues,
      kv: resolved.kv ?? (storage && own(new StorageKvStore(storage, { clock }))),
      prefix: resolved.prefix,
      deduplicationTtlMs: resolved.deduplicationTtlMs,
      deduplicationFallback: resolved.taskDeduplicationFallback,
      retryPolicy,
      clock,
      log,
      events: new TaskEvents(log),
      tasks: this,
    }
    this.#release = resolved.release
    this.schedules = taskSchedules(this.#env, () => this.#assertOpen())
    this.#listeners = new QueueListeners({
      clock,
      handlerOf: (from) => {
        const named = { queue: from, name: this.#env.queues.nameOf(from) }
        return (message, delivery) => processTask(this.#env, named, message, delivery)
      },
      onFailure: (error) => this.#fail(error),
    })
    this.#lifecycle = new Lifecycle({
      clock,
      open: (signal) => this.#open(signal),
      close: (graceMs) => this.#close(graceMs),
      onFailure: onError,
    })
  }

  // ── tasks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  defineTask<S extends StandardSchemaV1>(name: string, options: TaskOptions<S>) {
    this.#assertOpen()
    const handle = this.#env.definitions.define(name, options)
    const { signal } = this.#lifecycle
    const { queue } = this.#env.definitions.ofHandle(handle)
    if (queue && signal) void this.#listenLater(queue, signal)
    return handle as TaskDefinition<InferInput<S>, InferOutput<S>>
  }

  // Not async: an unavailable deduplication is thrown at once.
  enqueueTask<I>(task: TaskDefinition<I, unknown>, data: I, options?: TaskEnqueueOptions): Promise<EnqueueTaskResult> {
    return this.#enqueue(
      () => prepare(this.#env, task, options),
      async (prepared) => {
        const { ids, ...outcome } = await send(this.#env, prepared, [data], false)
        return { ...outcome, id: ids[0] }
      },
    )
  }

  enqueueTaskMany<I>(
    task: TaskDefinition<I, unknown>,
    payloads: readonly I[],
    options?: TaskEnqueueManyOptions,
  ): Promise<EnqueueManyResult> {
    let copy: readonly I[]
    return this.#enqueue(
      () => {
        this.#env.definitions.ofHandle(task)
        copy = batchItems('payloads', payloads) as readonly I[]
        return prepare(this.#env, task, options, copy.length)
      },
      (prepared) => send(this.#env, prepared, copy, true),
    )
  }

  /** Rejects for a wrong call. One exception: with the fallback `closed`, a key that cannot be applied is thrown at once. */
  #enqueue<T>(check: () => Prepared, run: (prepared: Prepared) => Promise<T>): Promise<T> {
    let prepared: Prepared
    try {
      this.#assertOpen()
      prepared = check()
    } catch (error) {
      if ((error as { code?: unknown }).code === 'DEDUPLICATION_UNAVAILABLE') throw error
      return Promise.reject(error as Error)
    }
    return run(prepared)
  }

  getDepth(): Promise<StorageQueueDepth> {
    return this.#operate(depthOf)
  }

  counts(): Promise<MessageCounts> {
    return this.#operate(countTasks)
  }

  async *failed(): AsyncGenerator<FailedTask> {
    this.#assertOpen()
    yield* failedTasks(this.#env)
  }

  revive(ids: readonly string[]): Promise<ReviveVerdict[]> {
    return this.#operate((env) => reviveTasks(env, ids))
  }

  get(id: string): Promise<StoredTask | null> {
    return this.#operate((env) => getTask(env, id))
  }

  cancel(id: string, options?: CancelOptions): Promise<CancelResult> {
    return this.#operate((env) => cancelTask(env, id, options))
  }

  async #operate<T>(run: (env: Processing) => Promise<T>): Promise<T> {
    this.#assertOpen()
    return run(this.#env)
  }

  async processMessage(message: unknown): Promise<void> {
    this.#assertOpen()
    await processTask(this.#env, undefined, message, undefined)
  }

  on(event: TaskEvent['name'], listener: TaskListener): () => void {
    if (typeof listener !== 'function') throw invalidArgument('listener', 'a function', listener)
    return this.#env.events.on(event, listener)
  }

  // ── life-cycle ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async start(options?: { readonly signal?: AbortSignal | undefined }): Promise<void> {
    const { signal } = resolveOptions('start', options, startOptions)
    this.#assertOpen()
    const ready = this.#lifecycle.start()
    if (signal?.aborted) void this.#lifecycle.stop(undefined)
    // The listener goes with the start that it belongs to.
    else
      signal?.addEventListener('abort', () => void this.#lifecycle.stop(undefined), { signal: this.#lifecycle.signal })
    await ready
  }

  async run(options?: RunOptions): Promise<void> {
    const { signal, graceMs } = resolveOptions('run', options, runOptions)
    this.#assertOpen()
    await this.#lifecycle.run(signal, graceMs)
    if (this.#failure) throw this.#failure.error
  }

  async stop(options?: StopOptions): Promise<void> {
    const { graceMs } = resolveOptions('stop', options, stopOptions)
    await this.#lifecycle.stop(graceMs)
  }

  health(): Health {
    const own = healthOf('tasks', this.#lifecycle.isReady, 0, undefined)
    return healthOfAll('tasks', [own, ...this.#listeners.health()])
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.stop()
    for (const made of this.#owned) await made.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #open(signal: AbortSignal): Promise<void> {
    const { definitions, queues, log } = this.#env
    const all = queues.all(definitions)
    if (all.size === 0) {
      throw usageError('NO_TASK_QUEUE', 'start: expected a queue, got none. Pass queue or storage to createTasks().')
    }
    this.#failure = undefined
    this.#warnOfPolicies(definitions)
    await this.#listeners.open(all, signal)
    if (!signal.aborted) await this.#startScheduler()
    log.info({ queues: [...all].map((queue) => queues.nameOf(queue)) }, 'tasks: started')
  }

  async #close(graceMs: number | undefined): Promise<void> {
    await this.#stopScheduler()
    await this.#listeners.close(graceMs)
    this.#env.log.info({}, 'tasks: stopped')
  }

  async #startScheduler(): Promise<void> {
    let scheduler: Scheduler | undefined
    try {
      scheduler = await schedulerOf(this.#env, this.#release)
      this.#scheduler = scheduler
      await scheduler?.start()
    } catch (error) {
      if (this.#scheduler === scheduler) await this.#stopScheduler()
      // The next try, if there is one, finds the queues open.
      if (!mayPass(error)) await this.#listeners.close(0)
      throw error
    }
  }

  async #stopScheduler(): Promise<void> {
    const { clock, log } = this.#env
    const scheduler = this.#scheduler
    this.#scheduler = undefined
    const stopped = scheduler?.stop() ?? Promise.resolve()
    await atMost(clock, engineDefaults.stopWritesMs, stopped).catch((error: unknown) =>
      log.error({ err: error }, `tasks: ${(error as Error).message}`),
    )
  }

  /** For a queue that a task brings after start(): no caller waits for it, so every failure is retried. */
  async #listenLater(queue: MessageQueue, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#env
    const onFailure = (error: Error): void => log.error({ err: error }, `tasks: ${error.message}`)
    await retryUntilReady(() => this.#listeners.open([queue], signal), { clock, signal, onFailure, always: true })
  }

  /** One queue that fails ends the others: tasks that serve a part of their queues look healthy and are not. */
  #fail(error: unknown): void {
    this.#failure = { error }
    this.#env.log.error({ err: error }, 'tasks: a queue failed to listen. All queues are stopped; start again.')
    void this.#lifecycle.stop(undefined)
  }

  #warnOfPolicies(tasks: Iterable<DefinedTask>): void {
    if (this.#warned) return
    const { log, queues } = this.#env
    for (const task of tasks) {
      const queue = queues.of(task)?.queue
      if (!task.retryPolicy || !queue?.nativeRetrial || queue.extended) continue
      this.#warned = true
      log.warn(
        { task: task.name },
        `task '${task.name}': its queue retries by itself. The task's retry options do not apply.`,
      )
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new HoldfastError('CLOSED', 'tasks: they were closed. Create others with createTasks().')
  }
}
