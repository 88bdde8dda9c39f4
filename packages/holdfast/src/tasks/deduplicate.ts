// Who decides about a deduplication key: the queue itself, or a conditional write of the key-value store, or nobody.
// The plan is made before anything is validated or sent; taking the key is the last thing before the send.

import type { Clock } from '../clock.ts'
import { HoldfastError, usageError } from '../errors.ts'
import type { KvStore, StoreKey } from './kv/kv-store.ts'
import type { Log } from './telemetry/log.ts'
import type { MessageQueue } from './queue/message-queue.ts'

/** `none`: no key was given, or nobody can heed it. */
export type Plan =
  | { readonly path: 'none' }
  | { readonly path: 'native'; readonly key: string }
  | { readonly path: 'kv'; readonly key: string; readonly kv: KvStore; readonly write: 'setIfAbsent' | 'cas' }

interface Planning {
  readonly task: string
  readonly key: string | undefined
  readonly queue: MessageQueue
  readonly kv: KvStore | undefined
  readonly fallback: 'open' | 'closed'
  /** Messages of the call. */
  readonly size: number
  readonly log: Log
}

/** @throws TypeError DEDUPLICATION_UNAVAILABLE, BATCH_NOT_ATOMIC */
export function planDeduplication({ task, key, queue, kv, fallback, size, log }: Planning): Plan {
  if (key === undefined) return { path: 'none' }
  const isNative = queue.nativeDeduplication === true
  const write =
    typeof kv?.setIfAbsent === 'function' ? 'setIfAbsent' : typeof kv?.cas === 'function' ? 'cas' : undefined
  if (!isNative && !(kv && write)) {
    if (fallback === 'closed') {
      const message = `task '${task}': expected a queue with nativeDeduplication, or a kv with setIfAbsent or cas, got neither`
      throw usageError('DEDUPLICATION_UNAVAILABLE', message, { task })
    }
    log.debug({ task, deduplicationKey: key }, 'nobody can deduplicate, so the task is sent without')
    return { path: 'none' }
  }
  const isAtomic = typeof queue.enqueueMany === 'function' && queue.atomicEnqueueMany !== false
  if (size > 1 && !isAtomic) {
    const message = `task '${task}': expected a queue whose enqueueMany stores all or none, for ${size} messages under one key`
    throw usageError('BATCH_NOT_ATOMIC', message, { task, size })
  }
  return isNative ? { path: 'native', key } : { path: 'kv', key, kv: kv!, write: write! }
}

/** A key that was taken in the store. */
export class Marker {
  readonly #kv: KvStore
  readonly #key: StoreKey
  readonly #id: string
  readonly #clock: Clock
  readonly #ttlMs: number
  readonly #takenAt: number

  private constructor(kv: KvStore, key: StoreKey, id: string, ttlMs: number, clock: Clock) {
    this.#kv = kv
    this.#key = key
    this.#id = id
    this.#ttlMs = ttlMs
    this.#clock = clock
    this.#takenAt = clock.monotonic()
  }

  /** The marker; or, if the key is taken, the id that stands there, if it can be read. @throws KV_FAILED */
  static async take(
    { kv, write }: Extract<Plan, { path: 'kv' }>,
    key: StoreKey,
    id: string,
    ttlMs: number,
    clock: Clock,
  ): Promise<Marker | { readonly survivor: string | undefined }> {
    const marker = new Marker(kv, key, id, ttlMs, clock)
    try {
      const options = { ttl: ttlMs }
      const taken = await (write === 'setIfAbsent'
        ? kv.setIfAbsent!(key, id, options)
        : kv.cas!(key, undefined, id, options))
      if (taken) return marker
    } catch (cause) {
      throw new HoldfastError('KV_FAILED', 'the key-value store failed while the deduplication key was taken', {
        cause,
      })
    }
    // Only for the answer: the skip is decided.
    const survivor: unknown = await kv.get(key).catch(() => undefined)
    return { survivor: typeof survivor === 'string' ? survivor : undefined }
  }

  /** After a failed send: only while the key is still ours. Without `cas` that is known by time alone. */
  async giveBack(log: Log): Promise<void> {
    try {
      if (typeof this.#kv.cas === 'function') await this.#kv.cas(this.#key, this.#id, undefined)
      else if (this.#clock.monotonic() - this.#takenAt < this.#ttlMs / 2) await this.#kv.delete(this.#key)
    } catch (error) {
      log.warn({ err: error }, 'a deduplication key could not be given back; it stays until its TTL')
    }
  }
}
