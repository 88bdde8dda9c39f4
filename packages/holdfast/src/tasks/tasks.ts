// The door to tasks: typed functions that run later and, with a key, once. Each method hands on in a few lines.

import { type Clock, systemClock } from '../clock.ts'
import type { Logger } from '../engine/emit.ts'
import { HoldfastError, invalidArgument, usageError } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { Storage } from '../storage/storage.ts'
import { type DefinedTask, Definitions, type TaskDefinition, type TaskOptions } from './define.ts'
import { type Duration, toMs } from './duration.ts'
import { type EnqueueManyResult, type EnqueueTaskResult, prepare, send, type TaskEnqueueOptions } from './enqueue.ts'
import { type TaskEvent, TaskEvents, type TaskListener } from './telemetry/events.ts'
import type { KvStore, StoreKey } from './kv/kv-store.ts'
import { logTo } from './telemetry/log.ts'
import { checkBatch, type MessageQueue } from './queue/message-queue.ts'
import { prefixOptions, startOptions, tasksOptions } from './options.ts'
import { type Processing, processTask } from './process.ts'
import { type NamedQueue, Queues, type TaskQueues } from './queue/queues.ts'
import { exponentialBackoff, type RetryPolicy } from './retry.ts'
import type { InferInput, InferOutput, StandardSchemaV1 } from './schema.ts'
import { StorageKvStore } from './kv/storage-kv-store.ts'
import { StorageMessageQueue } from './queue/storage-message-queue.ts'

export interface TasksOptions {
  /** A bare queue means `{ task: queue }`. */
  readonly queue?: MessageQueue | TaskQueues
  /** For deduplication over queues that have none of their own. */
  readonly kv?: KvStore
  /** Shorthand for a StorageMessageQueue and a StorageKvStore over it. */
  readonly storage?: Storage
  readonly kvPrefixes?: {
    /** @default ['_holdfast', 'taskDeduplication'] */
    readonly taskDeduplication?: StoreKey
  }
  /** Strict: no task uses the fallback. @default 'fallback' */
  readonly taskQueueResolution?: 'fallback' | 'strict'
  /** @default exponentialBackoff() */
  readonly taskRetryPolicy?: RetryPolicy
  /** From the due time. @default 1 h */
  readonly taskDeduplicationTtl?: Duration
  /** When nobody can deduplicate: send without, or refuse. @default 'open' */
  readonly taskDeduplicationFallback?: 'open' | 'closed'
  /** @default NODE_DEBUG=holdfast */
  readonly logger?: Logger
  /** @default the system's */
  readonly clock?: Clock
}

/** @throws TypeError INVALID_ARGUMENT */
export function createTasks(options: TasksOptions): Tasks {
  return new TaskFace(options)
}

export interface Tasks extends AsyncDisposable {
  /** @throws TypeError INVALID_TASK_NAME, TASK_ALREADY_DEFINED, INVALID_SCHEMA, INVALID_ARGUMENT */
  defineTask<S extends StandardSchemaV1>(
    name: string,
    options: TaskOptions<S>,
  ): TaskDefinition<InferInput<S>, InferOutput<S>>
  /**
   * Sends one task. What is wrong with the call is thrown, not rejected; what is wrong with the data is rejected.
   * @throws TypeError, CLOSED @returns rejects with SCHEMA_REJECTED, SERIALIZATION_ERROR, TOO_LARGE, KV_FAILED or the queue's own
   */
  enqueueTask<I>(task: TaskDefinition<I, any>, data: I, options?: TaskEnqueueOptions): Promise<EnqueueTaskResult>
  /** Sends a batch, at most 10,000. With a key: all of it, or none. @throws as enqueueTask */
  enqueueTaskMany<I>(
    task: TaskDefinition<I, any>,
    payloads: readonly I[],
    options?: TaskEnqueueOptions,
  ): Promise<EnqueueManyResult>
  /** Listens on every distinct queue. Resolves once it was stopped, or the signal aborted, and all handlers have ended. */
  start(options?: { readonly signal?: AbortSignal }): Promise<void>
  /** Takes no new message, and waits for those under way. start() may follow again. */
  stop(): Promise<void>
  /** One attempt, for platforms that push messages. */
  processMessage(message: unknown): Promise<void>
  /** @returns what ends it */
  on(event: TaskEvent['name'], listener: TaskListener): () => void
}

class TaskFace implements Tasks {
  readonly #env: Processing
  readonly #events: TaskEvents
  readonly #owned: { close(): Promise<void> }[] = []
  #listening:
    | { readonly stop: AbortController; readonly ended: Promise<void>; listen(queue: MessageQueue): void }
    | undefined
  #closed = false
  #warned = false

  constructor(options: TasksOptions) {
    const given = resolveOptions('createTasks', options, tasksOptions)
    const { storage, clock = systemClock, logger } = given
    const { taskDeduplication } = resolveOptions('kvPrefixes', given.kvPrefixes, prefixOptions)
    const log = logTo(logger)
    this.#events = new TaskEvents(log)
    const own = <T extends { close(): Promise<void> }>(made: T): T => (this.#owned.push(made), made)
    const queue = given.queue ?? (storage && own(new StorageMessageQueue(storage, { clock, logger })))
    const kv = given.kv ?? (storage && own(new StorageKvStore(storage, { clock })))
    this.#env = {
      definitions: new Definitions(),
      queues: new Queues(queue, given.taskQueueResolution),
      kv,
      prefix: taskDeduplication,
      deduplicationTtlMs: toMs(given.taskDeduplicationTtl),
      deduplicationFallback: given.taskDeduplicationFallback,
      retryPolicy: given.taskRetryPolicy ?? exponentialBackoff({ clock }),
      clock,
      log,
      events: this.#events,
      tasks: this,
    }
  }

  defineTask<S extends StandardSchemaV1>(name: string, options: TaskOptions<S>) {
    this.#assertOpen()
    const handle = this.#env.definitions.define(name, options)
    if (options.queue) this.#listening?.listen(options.queue)
    return handle as TaskDefinition<InferInput<S>, InferOutput<S>>
  }

  // Neither is async: what is wrong with the call is thrown.
  enqueueTask<I>(task: TaskDefinition<I, unknown>, data: I, options?: TaskEnqueueOptions): Promise<EnqueueTaskResult> {
    this.#assertOpen()
    const prepared = prepare(this.#env, task, 1, options)
    return send(this.#env, prepared, [data], false).then(({ status, ids: [id] }) => ({ status, id }))
  }

  enqueueTaskMany<I>(
    task: TaskDefinition<I, unknown>,
    payloads: readonly I[],
    options?: TaskEnqueueOptions,
  ): Promise<EnqueueManyResult> {
    this.#assertOpen()
    this.#env.definitions.ofHandle(task)
    checkBatch('payloads', payloads)
    // A copy: the caller's array may change before it is sent.
    const copy = [...payloads]
    return send(this.#env, prepare(this.#env, task, copy.length, options), copy, true)
  }

  start(options?: { readonly signal?: AbortSignal }): Promise<void> {
    this.#assertOpen()
    const { signal } = resolveOptions('start', options, startOptions)
    if (this.#listening) return this.#listening.ended
    const queues = this.#env.queues.all(this.#env.definitions)
    if (queues.size === 0) throw usageError('NO_TASK_QUEUE', 'start: expected a queue, none is configured')
    this.#warnOfPolicies(this.#env.definitions)
    const stop = new AbortController()
    const until = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal
    const listens = new Map<MessageQueue, Promise<void>>()
    const listen = (queue: MessageQueue): void => {
      if (listens.has(queue) || until.aborted) return
      const from: NamedQueue = { queue, name: this.#env.queues.nameOf(queue) }
      const listening = queue.listen((message, delivery) => processTask(this.#env, from, message, delivery), {
        signal: until,
      })
      // One that fails ends the others: start() says so.
      listening.catch(() => stop.abort())
      listens.set(queue, listening)
    }
    for (const queue of queues) listen(queue)
    const ended = this.#drain(listens)
    this.#listening = { stop, ended, listen }
    return ended
  }

  /** Also of queues that were added meanwhile. */
  async #drain(listens: ReadonlyMap<unknown, Promise<void>>): Promise<void> {
    try {
      for (let seen = 0; seen < listens.size;) {
        seen = listens.size
        const ends = await Promise.allSettled(listens.values())
        for (const end of ends) if (end.status === 'rejected') throw end.reason
      }
    } finally {
      this.#listening = undefined
    }
  }

  async stop(): Promise<void> {
    const listening = this.#listening
    listening?.stop.abort()
    // What went wrong is start()'s to say.
    await listening?.ended.catch(() => {})
  }

  processMessage(message: unknown): Promise<void> {
    this.#assertOpen()
    return processTask(this.#env, undefined, message, undefined)
  }

  on(event: TaskEvent['name'], listener: TaskListener): () => void {
    if (typeof listener !== 'function') throw invalidArgument('listener', 'a function', listener)
    return this.#events.on(event, listener)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    await this.stop()
    for (const made of this.#owned) await made.close()
  }

  #warnOfPolicies(tasks: Iterable<DefinedTask>): void {
    if (this.#warned) return
    const { log, queues } = this.#env
    for (const task of tasks) {
      const queue = queues.of(task)?.queue
      if (!task.retryPolicy || !queue?.nativeRetrial || queue.extended) continue
      this.#warned = true
      log.warn({ task: task.name }, 'its queue retries by itself, so the retry policy of the task does not apply')
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new HoldfastError('CLOSED', 'these tasks were closed')
  }
}
