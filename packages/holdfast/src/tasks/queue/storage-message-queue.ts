// A message queue over any Holdfast storage: `enqueue` is `add`, `listen` is a Worker for one type. Deduplication, order,
// retries and batches are the storage's own, each decided in one move with the message.

import { atMost, type Clock } from '../../clock.ts'
import { Connection } from '../../engine/connection.ts'
import { HoldfastError, invalidArgument } from '../../errors.ts'
import { isWatched, type Tell, teller } from '../../engine/events.ts'
import { engineDefaults } from '../../engine/defaults.ts'
import { sharedOptions } from '../../engine/options.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { type GuardedStorage, guardStorage } from '../../engine/guard.ts'
import { encodeKvKey } from '../../storage/kv.ts'
import type { AddVerdict, Bytes, Deduplication, NewJob, ReviveVerdict, Storage } from '../../storage/storage.ts'
import { Worker } from '../../engine/work/worker.ts'
import { deliveryWork, identityOf } from './deliver.ts'
import { toMs } from '../duration.ts'
import { replaceable } from './in-hand.ts'
import { type Log, logTo } from '../telemetry/log.ts'
import {
  checkBatch,
  type EnqueueReceipt,
  type ExtendedEnqueueOptions,
  type MessageHandler,
  type MessageQueue,
  type QueueDepth,
} from './message-queue.ts'
import { type FailedMessage, encodeMessage, failedMessage } from './stored-message.ts'
import { extendedOptions, jobOptions, messageRetention, startOptions } from '../options.ts'
import { Sender } from './sender.ts'
import { resolveStorageQueueOptions, type StorageMessageQueueOptions } from './storage-queue-options.ts'

const pageSize = 100

/** The options of nearly every message. */
const nothing: ExtendedEnqueueOptions = {}

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
  readonly #log: Log
  readonly #tell: Tell
  readonly #origin: string
  readonly #options: ReturnType<typeof resolveStorageQueueOptions>
  readonly #listening = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  #calls = 0

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(storage: Storage, options?: StorageMessageQueueOptions) {
    sharedOptions.storage.check('storage', storage)
    const resolved = resolveStorageQueueOptions(options)
    this.name = resolved.name
    this.nativeRetrial = resolved.nativeRetrial
    this.#options = resolved
    this.#clock = resolved.clock
    this.#log = logTo(resolved.logger)
    this.#tell = teller((event) => {
      if (event.name === 'error') this.#log.error({ err: event.error, queue: this.name }, event.error.message)
    })
    this.#owner = storage
    this.#storage = guardStorage(storage, this.#clock, this.#tell)
    this.#connection = new Connection(this.#storage, this.name)
    this.#sender = new Sender((jobs) => this.#storage.add(jobs), storage.settings.addsPerCall)
    this.#origin = this.#clock.newId()
  }

  // ── enqueue ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Once it resolves, the message is in the storage.
   * @throws INVALID_MESSAGE and the like, SERIALIZATION_ERROR, TOO_LARGE, StorageError, CLOSED; all as rejections
   */
  async enqueue(message: unknown, options?: ExtendedEnqueueOptions): Promise<EnqueueReceipt> {
    const given = options === undefined ? nothing : resolveOptions('enqueue', options, extendedOptions)
    const payload = encodeMessage(message, this.#options.maxMessageBytes)
    const delayMs = given.delay === undefined ? undefined : toMs(given.delay)
    if (given.deduplicationKey === undefined) {
      const identity = identityOf(this.#options.replaces, message)
      const held = replaceable(this.#owner, this.name, identity, given.orderingKey)
      if (held) {
        held.replacement = { payload, delayMs }
        return { status: 'enqueued', ids: [held.id] }
      }
    }
    return this.#add([payload], given, delayMs)
  }

  /** All of them or none, at most 10,000. One deduplication key stands for the whole batch. @throws as enqueue */
  async enqueueMany(messages: readonly unknown[], options?: ExtendedEnqueueOptions): Promise<EnqueueReceipt> {
    checkBatch('messages', messages)
    const given = options === undefined ? nothing : resolveOptions('enqueueMany', options, extendedOptions)
    const { maxMessageBytes } = this.#options
    const payloads = messages.map((message, index) => encodeMessage(message, maxMessageBytes, index))
    if (payloads.length === 0) return { status: 'enqueued', ids: [] }
    return this.#add(payloads, given, given.delay === undefined ? undefined : toMs(given.delay))
  }

  async #add(
    payloads: readonly Bytes[],
    given: ExtendedEnqueueOptions,
    delayMs: number | undefined,
  ): Promise<EnqueueReceipt> {
    const { orderingKey, job } = given
    const priority = job === undefined ? undefined : resolveOptions('job', job, jobOptions).priority
    const ids = given.ids ?? (given.id === undefined ? [] : [given.id])
    if (ids.length > 0 && ids.length !== payloads.length) throw invalidArgument('ids', 'one for each message', ids)
    const token = `${this.#origin}/${++this.#calls}`
    const shared = {
      type: this.name,
      token,
      delayMs,
      priority,
      retention: messageRetention,
      group: orderingKey === undefined ? undefined : { key: orderingKey, ordered: true as const },
      deduplication: this.#deduplication(given, delayMs ?? 0, payloads.length > 1),
    }
    const jobs = payloads.map((payload, index): NewJob => ({
      ...shared,
      id: ids[index] ?? this.#clock.newId(),
      payload,
    }))
    this.#assertOpen()
    if (!this.#connection.isOpen) await this.#connection.use()
    return this.#receipt(await this.#sender.send(jobs, orderingKey))
  }

  #deduplication(given: ExtendedEnqueueOptions, delayMs: number, shared: boolean): Deduplication | undefined {
    const { deduplicationKey, deduplicationScope = '', deduplicationTtl } = given
    if (deduplicationKey === undefined) return undefined
    const ttlMs = deduplicationTtl === undefined ? this.#options.deduplicationTtlMs : toMs(deduplicationTtl)
    // From the due time, so that a long delay lets no duplicate in before the first has run.
    const windowMs = delayMs + ttlMs
    const key = encodeKvKey([deduplicationScope, deduplicationKey])
    return shared ? { key, mode: 'throttle', windowMs, shared } : { key, mode: 'throttle', windowMs }
  }

  #receipt(verdicts: readonly AddVerdict[]): EnqueueReceipt {
    const added: string[] = []
    const survivors = new Set<string>()
    for (const verdict of verdicts) {
      if (verdict.verdict === 'added') added.push(verdict.job.id)
      else if (verdict.verdict === 'duplicate') survivors.add(verdict.job.id)
    }
    if (isWatched()) for (const id of added) this.#tell({ name: 'added', type: this.name, id })
    return added.length > 0 ? { status: 'enqueued', ids: added } : { status: 'deduplicated', ids: [...survivors] }
  }

  // ── listen ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Hands messages to the handler, until the signal aborts and the handlers under way have ended, or `grace` has passed.
   * A storage that fails is tried again. Several may listen side by side. @throws INVALID_ARGUMENT, CLOSED
   */
  async listen(handler: MessageHandler, options?: { readonly signal?: AbortSignal }): Promise<void> {
    if (typeof handler !== 'function') throw invalidArgument('handler', 'a function', handler)
    const { signal } = resolveOptions('listen', options, startOptions)
    this.#assertOpen()
    if (signal?.aborted) return
    const until = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal
    const listening = this.#listen(handler, until)
    this.#listening.add(listening)
    await listening.finally(() => this.#listening.delete(listening))
  }

  async #listen(handler: MessageHandler, until: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => until.addEventListener('abort', () => resolve(), { once: true }))
    if (!(await this.#tryUntil(aborted, until, () => this.#storage.connect()))) return
    let leftMs: number = engineDefaults.stopWritesMs
    let worker: Worker | undefined
    const begun = await this.#tryUntil(aborted, until, () => {
      worker = this.#worker(handler)
      return worker.start()
    })
    if (begun) {
      await aborted
      const { graceMs } = this.#options
      leftMs = await worker!.stop({ graceMs, afterAbortMs: Math.min(engineDefaults.afterAbortMs, graceMs) })
    }
    await atMost(this.#clock, leftMs, this.#storage.disconnect()).catch((error: Error) =>
      this.#tell({ name: 'error', error }),
    )
  }

  /** False if it was aborted before it went well. */
  async #tryUntil(aborted: Promise<void>, until: AbortSignal, attempt: () => Promise<void>): Promise<boolean> {
    let pauseMs = 100
    while (!until.aborted) {
      try {
        await attempt()
        return true
      } catch (error) {
        this.#tell({ name: 'error', error: error as Error })
      }
      const pause = Promise.withResolvers<void>()
      const timer = this.#clock.after(pauseMs * (1 - this.#clock.random() / 2), () => pause.resolve())
      await Promise.race([pause.promise, aborted])
      timer.cancel()
      pauseMs = Math.min(2 * pauseMs, engineDefaults.longestRetryMs)
    }
    return false
  }

  #worker(handler: MessageHandler): Worker {
    const { concurrency, leaseMs, pollMs, retryPolicy, replaces } = this.#options
    const [clock, storage, tell] = [this.#clock, this.#storage, this.#tell]
    const work = deliveryWork({
      handler,
      name: this.name,
      leaseMs,
      retryPolicy,
      replaces,
      clock,
      storage,
      owner: this.#owner,
      onError: (error) => tell({ name: 'error', error }),
    })
    const { loopBackoff } = engineDefaults
    const label = clock.newId()
    return new Worker({ storage, clock, label, concurrency, slotPauseMs: 0, loopBackoff, pollMs, tell, types: [work] })
  }

  // ── look ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Ready: due and not running, lost ones too. Delayed: not yet due, waiting retries too. Queued: both. */
  async getDepth(): Promise<Required<QueueDepth>> {
    await this.#open()
    const { types } = await this.#storage.count({ types: [this.name] })
    const { due = 0, delayed = 0 } = types.find(({ type }) => type === this.name) ?? {}
    return { queued: due + delayed, ready: due, delayed }
  }

  /** The messages that failed for good, oldest first. */
  async *failed(): AsyncGenerator<FailedMessage> {
    await this.#open()
    for (let cursor: string | undefined; ;) {
      const { items, nextCursor } = await this.#storage.list({
        of: 'jobs',
        types: [this.name],
        states: ['failed'],
        order: 'asc',
        limit: pageSize,
        parts: ['payload', 'error'],
        cursor,
      })
      for (const record of items) yield failedMessage(record)
      if (nextCursor === undefined) return
      cursor = nextCursor
    }
  }

  /** Failed messages run again, their attempts counted anew, in their old place in their ordering key. */
  async revive(ids: readonly string[]): Promise<ReviveVerdict[]> {
    await this.#open()
    return this.#storage.revive(ids.map((id) => ({ type: this.name, id })))
  }

  // ── close ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Ends its listeners as an abort does, and gives its count of the storage back. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#listening)
    await this.#connection.stop().catch((error: Error) => this.#tell({ name: 'error', error }))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) {
      throw new HoldfastError('CLOSED', `the message queue '${this.name}' was closed`, { queue: this.name })
    }
  }

  async #open(): Promise<void> {
    this.#assertOpen()
    if (!this.#connection.isOpen) await this.#connection.use()
  }
}
