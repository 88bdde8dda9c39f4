// A message queue over any Holdfast storage: `enqueue` is `add`, `listen` is a Worker for one type. Deduplication, order, retries
// and batches are the storage's own, each decided in one move with the message.
// Longer than other files because it is a façade: options and methods with their documentation.

import type { Clock } from '../../clock.ts'
import { Connection } from '../../engine/connection.ts'
import { isWatched, type PublishEvent, eventPublisher } from '../../engine/events.ts'
import { type GuardedStorage, guardStorage } from '../../engine/guard.ts'
import { eventLog } from '../../engine/log-events.ts'
import { sharedOptions } from '../../engine/options.ts'
import { AddLimits, refusalOf } from '../../engine/limits/add-limits.ts'
import { LimitsCopy } from '../../engine/limits/limits-copy.ts'
import type { LimitsOptions } from '../../engine/limits/limits-options.ts'
import type { SchedulesOptions } from '../../engine/schedule/schedules.ts'
import { retryUntilReady } from '../../engine/retry-until-ready.ts'
import { HoldfastError, invalidArgument } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { encodeKvKey } from '../../storage/kv.ts'
import type {
  AddVerdict,
  Bytes,
  Deduplication,
  NewJob,
  Retention,
  ReviveVerdict,
  Storage,
  When,
} from '../../storage/storage.ts'
import { toMs } from '../duration.ts'
import { consumeOptions, extendedOptions, startOptions } from '../options.ts'
import { policyOf } from '../retry.ts'
import { eventSink, logTo } from '../telemetry/log.ts'
import {
  type Batch,
  batchOf,
  batchItems,
  checkKeyedBatch,
  messageIdIn,
  moveSize,
  newBatch,
  sendBatch,
} from './batch.ts'
import type { CancelOptions, CancelResult } from '../../engine/operate/cancel.ts'
import { checkNoMode, modeIn } from './deduplication-mode.ts'
import { openConsumer } from './consumer.ts'
import { replaceable } from './current-message.ts'
import { deliveryWork, identityOf } from './deliver.ts'
import { dueOf, windowMsOf } from './due.ts'
import { groupOf } from './group.ts'
import {
  cancelMessage,
  countMessages,
  failedMessages,
  getMessage,
  type Operating,
  reviveMessages,
} from './message-operations.ts'
import {
  type ConsumeOptions,
  type Consumer,
  type EnqueueReceipt,
  type ExtendedEnqueueOptions,
  type MessageHandler,
  type MessageQueue,
  type StorageQueueDepth,
} from './message-queue.ts'
import { receiptOf } from './receipt.ts'
import { Sender } from './sender.ts'
import { resolveStorageQueueOptions, type StorageMessageQueueOptions } from './storage-queue-options.ts'
import {
  encodeMessage,
  type FailedMessage,
  type MessageCounts,
  type MessageEncoding,
  type StoredMessage,
} from './stored-message.ts'

/** The resolved options of an enqueue. */
type Given = Omit<ExtendedEnqueueOptions, 'delay' | 'job'>

/** Most messages have none. */
const noOptions: Given = {}

/** What schedules of messages need of a queue. */
export interface Scheduling extends SchedulesOptions {
  readonly polls: boolean
  readonly retention: Retention
  readonly encoding: MessageEncoding
}

/** Undefined: it is no StorageMessageQueue. */
export let schedulingOf: (queue: MessageQueue | undefined) => Scheduling | undefined

/** Makes a queue for one task beside another, with its options and with these limits. @throws HoldfastError FEATURE_UNSUPPORTED */
export let limitedQueue: (
  queue: MessageQueue | undefined,
  task: string,
  limits: LimitsOptions,
  release: number,
) => StorageMessageQueue

/** A message queue over a storage: the queue of tasks, or one for messages of your own. listen() or consume() runs them. */
export class StorageMessageQueue implements MessageQueue, AsyncDisposable {
  /** Name of the queue. Queues of one name on one storage share their messages. */
  readonly name: string
  readonly nativeRetrial: boolean
  readonly nativeDeduplication = true as const
  readonly atomicEnqueueMany = true as const
  readonly extended = true as const
  /** Longest run of a message that sets none itself, in ms. Undefined: any time. */
  readonly timeoutMs: number | undefined
  readonly #owner: Storage
  readonly #storage: GuardedStorage
  readonly #connection: Connection
  readonly #sender: Sender
  readonly #clock: Clock
  readonly #publishEvent: PublishEvent
  readonly #origin: string
  readonly #options: ReturnType<typeof resolveStorageQueueOptions>
  /** The same, as they were given. */
  readonly #given: StorageMessageQueueOptions | undefined
  readonly #limits: LimitsCopy
  readonly #addLimits: AddLimits
  readonly #encoding: MessageEncoding
  readonly #listens = new Set<Promise<void>>()
  readonly #consumers = new Set<Consumer>()
  readonly #closing = new AbortController()
  #calls = 0

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(storage: Storage, options?: StorageMessageQueueOptions) {
    sharedOptions.storage.check('storage', storage)
    const resolved = resolveStorageQueueOptions(options)
    const { name, clock, logger } = resolved
    this.name = name
    this.nativeRetrial = resolved.nativeRetrial
    this.timeoutMs = resolved.timeoutMs
    this.#options = resolved
    this.#given = options
    this.#encoding = { serde: resolved.messageSerde, limit: resolved.maxMessageBytes }
    this.#clock = clock
    const log = logTo(logger)
    const logEvent = eventLog(eventSink(logger), `message queue '${name}'`)
    this.#publishEvent = eventPublisher((event) => {
      logEvent?.(event)
      if (event.name === 'error')
        log.error({ err: event.error, queue: name }, `message queue '${name}': ${event.error.message}`)
    })
    this.#owner = storage
    this.#storage = guardStorage(storage, clock, this.#publishEvent)
    this.#connection = new Connection(this.#storage, name)
    this.#limits = new LimitsCopy({ storage: this.#storage, clock, types: [resolved], release: resolved.release })
    this.#addLimits = new AddLimits(this.#limits, { clock, storage, waits: resolved.limits !== undefined })
    this.#sender = new Sender((jobs) => {
      this.#addLimits.look()
      return this.#storage.add(jobs)
    }, storage.settings.addsPerCall)
    this.#origin = clock.newId()
  }

  // ── enqueue ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Stores a message. Once it resolves, the message is in the storage.
   * @throws INVALID_MESSAGE, INVALID_ARGUMENT and the like, SERIALIZATION_ERROR, TOO_LARGE, QueueFullError, GROUP_KIND, StorageError, CLOSED;
   * all as rejections
   */
  async enqueue(message: unknown, options?: ExtendedEnqueueOptions): Promise<EnqueueReceipt> {
    const given = options === undefined ? noOptions : resolveOptions('enqueue', options, extendedOptions)
    const payload = encodeMessage(message, this.#encoding)
    const due = dueOf(given)
    const orderingKey = groupOf(given)?.key
    if (given.deduplicationKey === undefined && given.deduplication === undefined) {
      const identity = identityOf(this.#options.replaces, message)
      const current = replaceable({ storage: this.#owner, type: this.#options.type, identity, orderingKey })
      if (current) {
        current.replacement = { payload, ...due }
        return { status: 'enqueued', ids: [current.id] }
      }
    }
    return this.#add([payload], given, due)
  }

  /**
   * Stores any number of messages, in order. Up to 1,000, and under a deduplication key up to 10,000, all are stored or none. More
   * go in moves of 1,000, each stored whole or not at all. A move that fails is repeated for `callTimeoutMs` of the storage; then
   * the call rejects with BATCH_INTERRUPTED, and a call with its `resume` sends the rest. A deduplication key stands for the batch.
   * @throws as enqueue; BATCH_INTERRUPTED, BATCH_TOO_LARGE, INVALID_PAYLOADS
   */
  async enqueueMany(messages: readonly unknown[], options?: ExtendedEnqueueOptions): Promise<EnqueueReceipt> {
    const all = batchItems('messages', messages)
    const given = options === undefined ? noOptions : resolveOptions('enqueueMany', options, extendedOptions)
    if (given.deduplicationKey !== undefined) checkKeyedBatch(all.length, given.resume)
    checkNoMode(given.deduplication)
    const payloads = all.map((message, index) => encodeMessage(message, this.#encoding, index))
    const due = dueOf(given)
    if (payloads.length === 0) return { status: 'enqueued', ids: [] }
    if (given.resume !== undefined) return this.#addBatch(batchOf(given.resume, payloads.length), payloads, given, due)
    const isBatch = payloads.length > moveSize && given.deduplicationKey === undefined
    return isBatch ? this.#addBatch(newBatch(this.#clock), payloads, given, due) : this.#add(payloads, given, due)
  }

  #addBatch(batch: Batch, payloads: readonly Bytes[], given: Given, due: When): Promise<EnqueueReceipt> {
    const ids = given.ids ?? payloads.map((_, index) => messageIdIn(batch, index))
    checkIds(ids, payloads)
    return sendBatch(batch, ids, (from) =>
      this.#add(payloads.slice(from), { ...given, ids: ids.slice(from) }, due, batch.name),
    )
  }

  /** @param token of the call. Absent: a new one */
  async #add(payloads: readonly Bytes[], given: Given, due: When, token?: string): Promise<EnqueueReceipt> {
    const group = groupOf(given)
    const ids = given.ids ?? (given.id === undefined ? [] : [given.id])
    if (ids.length > 0) checkIds(ids, payloads)
    const shared = {
      type: this.#options.type,
      token: token ?? `${this.#origin}/${++this.#calls}`,
      ...due,
      priority: given.priority,
      retention: this.#options.retention,
      group,
      deduplication: this.#deduplication(given, due, payloads.length > 1),
      ...rareFields(given),
    }
    const jobs = payloads.map((payload, index): NewJob => ({
      ...shared,
      id: ids[index] ?? this.#clock.newId(),
      payload,
    }))
    this.#assertOpen()
    // Not #open(): each message would wait a tick more.
    if (!this.#connection.isOpen) await this.#connection.use()
    // Awaited only if it must be: each message would wait a tick more.
    const wait = this.#addLimits.ready()
    if (wait) await wait
    for (const job of jobs) this.#addLimits.apply(job)
    const verdicts = await this.#sender.send(jobs, group?.ordered ? group.key : undefined)
    verdicts.forEach((verdict, index) => throwRefusal(verdict, jobs[index]!))
    const receipt = receiptOf(verdicts)
    if (receipt.status === 'enqueued' && isWatched()) {
      for (const id of receipt.ids) this.#publishEvent({ name: 'added', type: this.#options.type, id })
    }
    return receipt
  }

  #deduplication(given: Given, due: When, shared: boolean): Deduplication | undefined {
    const { deduplicationKey, deduplication, deduplicationScope = '', deduplicationTtl } = given
    if (deduplication) return modeIn(deduplicationScope, deduplication, deduplicationKey, due)
    if (deduplicationKey === undefined) return undefined
    const ttlMs = deduplicationTtl === undefined ? this.#options.deduplicationTtlMs : toMs(deduplicationTtl)
    const windowMs = windowMsOf(due, ttlMs, this.#clock)
    const key = encodeKvKey([deduplicationScope, deduplicationKey])
    return shared ? { key, mode: 'throttle', windowMs, shared } : { key, mode: 'throttle', windowMs }
  }

  // ── listen ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Passes messages to the handler, until the signal aborts and the running handlers have ended, or `graceMs` has passed.
   * Resolves then; never, without a signal. A storage that fails is retried. May be called several times side by side.
   * @throws INVALID_ARGUMENT, CLOSED, as rejections
   */
  async listen(handler: MessageHandler, options?: { readonly signal?: AbortSignal | undefined }): Promise<void> {
    const { signal } = resolveOptions('listen', options, startOptions)
    this.#checkHandler(handler)
    if (signal?.aborted) return
    const until = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal
    const listening = this.#listen(handler, until)
    this.#listens.add(listening)
    await listening.finally(() => this.#listens.delete(listening))
  }

  async #listen(handler: MessageHandler, until: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => until.addEventListener('abort', () => resolve(), { once: true }))
    let consumer: Consumer | undefined
    const open = async (): Promise<void> => void (consumer = await this.#consume(handler, until, {}))
    const onFailure = (error: Error): void => this.#publishEvent({ name: 'error', error })
    // Never rejects, by the contract of message queues: every failure is retried.
    await retryUntilReady(open, { clock: this.#clock, signal: until, onFailure, always: true })
    if (!consumer) return
    await aborted
    await consumer.stop()
  }

  /**
   * As listen(), but resolves when ready, with what stops it.
   * @throws INVALID_ARGUMENT, CLOSED, StorageError and the reason of `signal`, as rejections; then nothing is left behind
   */
  async consume(handler: MessageHandler, given?: ConsumeOptions): Promise<Consumer> {
    const { handlesTimeouts, signal } = resolveOptions('consume', given, consumeOptions)
    this.#checkHandler(handler)
    signal?.throwIfAborted()
    const until = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal
    const consumer = await this.#consume(handler, until, { handlesTimeouts, abortGraceMs: 0 })
    if (!consumer || until.aborted) {
      await consumer?.stop({ graceMs: 0 })
      signal?.throwIfAborted()
      throw this.#closedError()
    }
    this.#consumers.add(consumer)
    return {
      ...consumer,
      stop: async (options) => {
        await consumer.stop(options)
        this.#consumers.delete(consumer)
      },
    }
  }

  #consume(
    handler: MessageHandler,
    signal: AbortSignal,
    {
      handlesTimeouts = false,
      abortGraceMs = this.#options.graceMs,
    }: { handlesTimeouts?: boolean; abortGraceMs?: number },
  ): Promise<Consumer | undefined> {
    const { type, leaseMs, timeoutMs, replaces, retry, maxSnoozes, keep } = this.#options
    const [clock, storage, publishEvent] = [this.#clock, this.#storage, this.#publishEvent]
    const onError = (error: Error): void => publishEvent({ name: 'error', error })
    const work = deliveryWork({
      handler,
      type,
      leaseMs,
      timeoutMs,
      handlesTimeouts,
      replaces,
      serde: this.#encoding.serde,
      retryPolicy: policyOf(retry, clock, onError),
      maxSnoozes,
      keep,
      clock,
      storage,
      owner: this.#owner,
      onError,
    })
    const consuming = { ...this.#options, storage, clock, work, limits: this.#limits, publishEvent }
    return openConsumer(consuming, signal, abortGraceMs)
  }

  // ── operate ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Counts the messages that wait. `ready`: due and not running, lost leases included. `delayed`: not yet due, waiting retries
   * included. `queued`: both.
   */
  async getDepth(): Promise<StorageQueueDepth> {
    const { due, delayed } = await this.counts()
    return { queued: due + delayed, ready: due, delayed }
  }

  /** Counts the messages by state. */
  async counts(): Promise<MessageCounts> {
    return countMessages(await this.#operating())
  }

  /** Lists the messages that failed for good, those that ended first before the others. */
  async *failed(): AsyncGenerator<FailedMessage> {
    yield* failedMessages(await this.#operating())
  }

  /**
   * Runs failed and cancelled messages again. Their attempts are counted anew, and they keep their place in their ordering key.
   * @returns a verdict for each id, in order @throws INVALID_ARGUMENT, StorageError, CLOSED
   */
  async revive(ids: readonly string[]): Promise<ReviveVerdict[]> {
    return reviveMessages(await this.#operating(), ids)
  }

  /** Returns a message with its state, runs and error, or null: a completed message is deleted at once. @throws as revive() */
  async get(id: string): Promise<StoredMessage | null> {
    return getMessage(await this.#operating(), id)
  }

  /** Cancels a message that waits, and by `abort` or `force` one that runs. @throws as revive() */
  async cancel(id: string, options?: CancelOptions): Promise<CancelResult> {
    const result = await cancelMessage(await this.#operating(), id, options)
    if (result.status === 'cancelled') this.#publishEvent({ name: 'cancelled', type: this.#options.type, id })
    return result
  }

  async #operating(): Promise<Operating> {
    await this.#open()
    return {
      storage: this.#storage,
      type: this.#options.type,
      serde: this.#encoding.serde,
      clock: this.#clock,
    }
  }

  // ── schedules ──────────────────────────────────────────────────────────────────────────────────────────────────────

  static {
    schedulingOf = (queue) => (queue instanceof StorageMessageQueue ? queue.#scheduling() : undefined)
    limitedQueue = (queue, task, limits, release) => {
      if (queue instanceof StorageMessageQueue) {
        return new StorageMessageQueue(queue.#owner, {
          ...queue.#given,
          name: `${queue.name}/${task}`,
          limits,
          release,
        })
      }
      const message = `task '${task}': limits need a queue over a Holdfast storage. Pass storage to createTasks().`
      throw new HoldfastError('FEATURE_UNSUPPORTED', message, { what: 'limits' })
    }
  }

  #scheduling(): Scheduling {
    const { type: owner, retention, pollMs } = this.#options
    return {
      owner,
      storage: this.#storage,
      clock: this.#clock,
      publishEvent: this.#publishEvent,
      polls: pollMs !== Infinity,
      retention,
      encoding: this.#encoding,
      whenConnected: async (call) => {
        await this.#open()
        return call()
      },
    }
  }

  // ── close ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Stops its listeners and disconnects. A storage that others use stays connected. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#listens, ...[...this.#consumers].map((consumer) => consumer.stop())])
    await this.#connection.stop().catch((error: Error) => this.#publishEvent({ name: 'error', error }))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #checkHandler(handler: unknown): void {
    if (typeof handler !== 'function') throw invalidArgument('handler', 'a function', handler)
    this.#assertOpen()
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw this.#closedError()
  }

  #closedError(): HoldfastError {
    const message = `message queue '${this.name}': it was closed. Make another one.`
    return new HoldfastError('CLOSED', message, { queue: this.name })
  }

  async #open(): Promise<void> {
    this.#assertOpen()
    if (!this.#connection.isOpen) await this.#connection.use()
  }
}

/** @throws TypeError INVALID_ARGUMENT */
function checkIds(ids: readonly string[], payloads: readonly Bytes[]): void {
  if (ids.length !== payloads.length) throw invalidArgument('ids', 'one for each message', ids)
}

/** Fields that few jobs have: undefined for the others, so that they cost nothing. */
function rareFields({ timeoutMs, expiresInMs, search, weight }: Given): Partial<NewJob> | undefined {
  if (timeoutMs === undefined && expiresInMs === undefined && search === undefined && weight === undefined) {
    return undefined
  }
  return { timeoutMs, expiresInMs, search, weight }
}

/** @throws QueueFullError, GROUP_KIND */
function throwRefusal(verdict: AddVerdict, job: NewJob): void {
  const refusal = refusalOf(verdict, job)
  if (refusal) throw refusal
}
