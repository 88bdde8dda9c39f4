// Which part applies a deduplication key: the queue itself, a conditional write of the key-value store, or none.
// The plan is made before anything is validated or sent. The key is taken last, right before the send.

import type { Clock } from '../clock.ts'
import { HoldfastError, usageError } from '../errors.ts'
import { durationFor } from './foreign-durations.ts'
import type { KvStore, StoreKey } from './kv/kv-store.ts'
import type { Log } from './telemetry/log.ts'
import type { MessageQueue } from './queue/message-queue.ts'

/** `none`: no key was given, or no part can apply it. */
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
    if (fallback === 'closed') throw unavailable(task)
    const message = `task '${task}': neither the queue nor the kv can deduplicate. It is sent without the key.`
    log.debug({ task, deduplicationKey: key }, message)
    return { path: 'none' }
  }
  const isAtomic = typeof queue.enqueueMany === 'function' && queue.atomicEnqueueMany !== false
  if (size > 1 && !isAtomic) {
    const expected = `expected a queue whose enqueueMany stores all or none, for ${size} messages under one key`
    throw usageError('BATCH_NOT_ATOMIC', `task '${task}': ${expected}`, { task, size })
  }
  return isNative ? { path: 'native', key } : { path: 'kv', key, kv: kv!, write: write! }
}

function unavailable(task: string): TypeError {
  const expected = 'expected a queue with nativeDeduplication, or a kv with setIfAbsent or cas, got neither'
  const message = `task '${task}': ${expected}. The fallback is 'closed', so nothing was sent.`
  return usageError('DEDUPLICATION_UNAVAILABLE', message, { task })
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

  /** @returns the marker; if the key is taken, the id of the message that has it, as far as it can be read @throws KV_FAILED */
  static async take(
    { kv, write }: Extract<Plan, { path: 'kv' }>,
    key: StoreKey,
    id: string,
    ttlMs: number,
    clock: Clock,
  ): Promise<Marker | { readonly holder: string | undefined }> {
    const marker = new Marker(kv, key, id, ttlMs, clock)
    try {
      const options = { ttl: durationFor(kv, ttlMs) }
      const taken = await (write === 'setIfAbsent'
        ? kv.setIfAbsent!(key, id, options)
        : kv.cas!(key, undefined, id, options))
      if (taken) return marker
    } catch (cause) {
      const message = 'deduplication: the key-value store failed while the key was taken. Nothing was sent; call again.'
      throw new HoldfastError('KV_FAILED', message, { cause })
    }
    // Only for the answer: the skip is decided.
    const holder: unknown = await kv.get(key).catch(() => undefined)
    return { holder: typeof holder === 'string' ? holder : undefined }
  }

  /** After a failed send: frees the key while it is still this message's. Without `cas` the elapsed time decides that. */
  async giveBack(log: Log): Promise<void> {
    try {
      if (typeof this.#kv.cas === 'function') await this.#kv.cas(this.#key, this.#id, undefined)
      else if (this.#clock.monotonic() - this.#takenAt < this.#ttlMs / 2) await this.#kv.delete(this.#key)
    } catch (error) {
      log.warn({ err: error }, 'deduplication: the key could not be given back. It stays taken until its TTL.')
    }
  }
}
