// A message queue over any Holdfast storage: `enqueue` is `add`, `listen` is a Worker for one type. Deduplication, order, retries
// and batches are the storage's own, each decided in one move with the message.

import type { Clock } from '../../clock.ts'
import { Connection } from '../../engine/connection.ts'
import { isWatched, type Tell, teller } from '../../engine/events.ts'
import { type GuardedStorage, guardStorage } from '../../engine/guard.ts'
import { eventLog } from '../../engine/log-events.ts'
import { sharedOptions } from '../../engine/options.ts'
import { retryUntilReady } from '../../engine/retry-until-ready.ts'
import { HoldfastError, invalidArgument } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { encodeKvKey } from '../../storage/kv.ts'
import type { Bytes, Deduplication, NewJob, ReviveVerdict, Storage, When } from '../../storage/storage.ts'
import { toMs } from '../duration.ts'
import { extendedOptions, jobOptions, startOptions } from '../options.ts'
import { policyOf } from '../retry.ts'
import { eventSink, logTo } from '../telemetry/log.ts'
import { openConsumer } from './consumer.ts'
import { replaceable } from './current-message.ts'
import { deliveryWork, identityOf } from './deliver.ts'
import { dueOf, windowMsOf } from './due.ts'
import {
  checkBatch,
  type Consumer,
  type EnqueueReceipt,
  type ExtendedEnqueueOptions,
  type MessageHandler,
  type MessageQueue,
  type QueueDepth,
} from './message-queue.ts'
import { receiptOf } from './receipt.ts'
import { Sender } from './sender.ts'
import { resolveStorageQueueOptions, type StorageMessageQueueOptions } from './storage-queue-options.ts'
import { encodeMessage, type FailedMessage, failedMessage, type MessageEncoding } from './stored-message.ts'

const pageSize = 100

/** The resolved options of an enqueue. */
type Given = Omit<ExtendedEnqueueOptions, 'delay'>

/** Most messages have none. */
const noOptions: Given = {}

export class StorageMessageQueue implements MessageQueue, AsyncDisposable {
  readonly name: string
  readonly nativeRetrial: boolean
  readonly nativeDeduplication = true as const
  readonly atomicEnqueueMany = true as const
  readonly extended = true as const
  readonly #owner: Storage
  readonly #storage: GuardedStorage
  readonly #connection: Connection
  readonly #sender: Sender
  readonly #clock: Clock
  readonly #tell: Tell
  readonly #origin: string
  readonly #options: ReturnType<typeof resolveStorageQueueOptions>
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
    this.#options = resolved
    this.#encoding = { serde: resolved.messageSerde, limit: resolved.maxMessageBytes }
    this.#clock = clock
    const log = logTo(logger)
    const logEvent = eventLog(eventSink(logger), `message queue '${name}'`)
    this.#tell = teller((event) => {
      logEvent?.(event)
      if (event.name === 'error')
        log.error({ err: event.error, queue: name }, `message queue '${name}': ${event.error.message}`)
    })
    this.#owner = storage
    this.#storage = guardStorage(storage, clock, this.#tell)
    this.#connection = new Connection(this.#storage, name)
    this.#sender = new Sender((jobs) => this.#storage.add(jobs), storage.settings.addsPerCall)
    this.#origin = clock.newId()
  }

  // ── enqueue ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Stores a message. Once it resolves, the message is in the storage.
   * @throws INVALID_MESSAGE, INVALID_ARGUMENT and the like, SERIALIZATION_ERROR, TOO_LARGE, StorageError, CLOSED; all as rejections
   */
  async enqueue(message: unknown, options?: ExtendedEnqueueOptions): Promise<EnqueueReceipt> {
    const given = options === undefined ? noOptions : resolveOptions('enqueue', options, extendedOptions)
    const payload = encodeMessage(message, this.#encoding)
    const due = dueOf(given)
    const { orderingKey } = given
    if (given.deduplicationKey === undefined) {
      const identity = identityOf(this.#options.replaces, message)
      const current = replaceable({ storage: this.#owner, type: this.#options.type, identity, orderingKey })
      if (current) {
        current.replacement = { payload, ...due }
        return { status: 'enqueued', ids: [current.id] }
      }
    }
    return this.#add([payload], given, due)
  }

  /** Stores all messages or none, at most 10,000. A deduplication key stands for the whole batch. @throws as enqueue */
  async enqueueMany(messages: readonly unknown[], options?: ExtendedEnqueueOptions): Promise<EnqueueReceipt> {
    checkBatch('messages', messages)
    const given = options === undefined ? noOptions : resolveOptions('enqueueMany', options, extendedOptions)
    const payloads = messages.map((message, index) => encodeMessage(message, this.#encoding, index))
    const due = dueOf(given)
    if (payloads.length === 0) return { status: 'enqueued', ids: [] }
    return this.#add(payloads, given, due)
  }

  async #add(payloads: readonly Bytes[], given: Given, due: When): Promise<EnqueueReceipt> {
    const { orderingKey, job } = given
    const priority = job === undefined ? undefined : resolveOptions('job', job, jobOptions).priority
    const ids = given.ids ?? (given.id === undefined ? [] : [given.id])
    if (ids.length > 0 && ids.length !== payloads.length) throw invalidArgument('ids', 'one for each message', ids)
    const token = `${this.#origin}/${++this.#calls}`
    const shared = {
      type: this.#options.type,
      token,
      ...due,
      priority,
      retention: this.#options.retention,
      group: orderingKey === undefined ? undefined : { key: orderingKey, ordered: true as const },
      deduplication: this.#deduplication(given, due, payloads.length > 1),
    }
    const jobs = payloads.map((payload, index): NewJob => ({
      ...shared,
      id: ids[index] ?? this.#clock.newId(),
      payload,
    }))
    this.#assertOpen()
    // Not #open(): each message would wait a tick more.
    if (!this.#connection.isOpen) await this.#connection.use()
    const receipt = receiptOf(await this.#sender.send(jobs, orderingKey))
    if (receipt.status === 'enqueued' && isWatched()) {
      for (const id of receipt.ids) this.#tell({ name: 'added', type: this.#options.type, id })
    }
    return receipt
  }

  #deduplication(given: Given, due: When, shared: boolean): Deduplication | undefined {
    const { deduplicationKey, deduplicationScope = '', deduplicationTtl } = given
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
    const open = async (): Promise<void> => void (consumer = await this.#consume(handler, until))
    const onFailure = (error: Error): void => this.#tell({ name: 'error', error })
    // Never rejects, by the contract of message queues: every failure is retried.
    await retryUntilReady(open, { clock: this.#clock, signal: until, onFailure, always: true })
    if (!consumer) return
    await aborted
    await consumer.stop()
  }

  /**
   * As listen(), but resolves when ready, with what stops it.
   * @throws INVALID_ARGUMENT, CLOSED, StorageError, as rejections; then nothing is left behind
   */
  async consume(handler: MessageHandler): Promise<Consumer> {
    this.#checkHandler(handler)
    const consumer = await this.#consume(handler, this.#closing.signal)
    if (!consumer || this.#closing.signal.aborted) {
      await consumer?.stop()
      throw this.#closedError()
    }
    this.#consumers.add(consumer)
    return {
      stop: async (options) => {
        await consumer.stop(options)
        this.#consumers.delete(consumer)
      },
    }
  }

  #consume(handler: MessageHandler, signal: AbortSignal): Promise<Consumer | undefined> {
    const { type, leaseMs, timeoutMs, replaces, retry, concurrency, pollMs, graceMs } = this.#options
    const [clock, storage, tell] = [this.#clock, this.#storage, this.#tell]
    const onError = (error: Error): void => tell({ name: 'error', error })
    const work = deliveryWork({
      handler,
      type,
      leaseMs,
      timeoutMs,
      replaces,
      serde: this.#encoding.serde,
      retryPolicy: policyOf(retry, clock, onError),
      clock,
      storage,
      owner: this.#owner,
      onError,
    })
    return openConsumer({ storage, clock, work, concurrency, pollMs, graceMs, tell }, signal)
  }

  // ── look ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Counts the messages that wait. `ready`: due and not running, lost leases included. `delayed`: not yet due, waiting retries
   * included. `queued`: both.
   */
  async getDepth(): Promise<Required<QueueDepth>> {
    await this.#open()
    const { type } = this.#options
    const { types } = await this.#storage.count({ types: [type] })
    const { due = 0, delayed = 0 } = types.find((counts) => counts.type === type) ?? {}
    return { queued: due + delayed, ready: due, delayed }
  }

  /** Lists the messages that failed for good, oldest first. */
  async *failed(): AsyncGenerator<FailedMessage> {
    await this.#open()
    for (let cursor: string | undefined; ;) {
      const { items, nextCursor } = await this.#storage.list({
        of: 'jobs',
        types: [this.#options.type],
        states: ['failed'],
        order: 'asc',
        limit: pageSize,
        parts: ['payload', 'error'],
        cursor,
      })
      for (const record of items) yield failedMessage(this.#encoding.serde, record)
      if (nextCursor === undefined) return
      cursor = nextCursor
    }
  }

  /** Runs failed messages again. Their attempts are counted anew, and they keep their place in their ordering key. */
  async revive(ids: readonly string[]): Promise<ReviveVerdict[]> {
    await this.#open()
    return this.#storage.revive(ids.map((id) => ({ type: this.#options.type, id })))
  }

  // ── close ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Stops its listeners and disconnects. A storage that others use stays connected. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#listens, ...[...this.#consumers].map((consumer) => consumer.stop())])
    await this.#connection.stop().catch((error: Error) => this.#tell({ name: 'error', error }))
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
