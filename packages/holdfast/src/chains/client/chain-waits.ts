// Waiting for chains to end: one subscription per type, shared and kept between waits, with a fallback poll.
// Invariant: a wait listens before it reads, so no end falls between the two.

import type { Clock, Timer } from '../../clock.ts'
import { engineDefaults } from '../../engine/defaults.ts'
import type { PublishEvent } from '../../engine/events.ts'
import type { GuardedStorage } from '../../engine/guard.ts'
import { errorOf } from '../../engine/job/job-error.ts'
import {
  HoldfastError,
  isHoldfastError,
  JobChainFailedError,
  WaitForJobChainCompletionTimeoutError,
} from '../../errors.ts'
import { isTerminal } from '../../storage/rules/job/states.ts'
import type { JobRecord, JobRef, Unlisten } from '../../storage/storage.ts'
import { chainNotFound } from '../job/not-found.ts'
import { chainOf, chainParts, type PlainChain } from '../job/records.ts'
import { chainRefOf } from '../job/stored-type.ts'

interface WaitsOptions {
  readonly storage: Pick<GuardedStorage, 'listen' | 'get'>
  readonly clock: Clock
  readonly publishEvent: PublishEvent
}

interface WaitRequest {
  readonly timeoutMs: number
  readonly pollMs: number
  readonly signal?: AbortSignal | undefined
}

interface PendingWait {
  readonly chain: JobRef
  readonly resolve: (chain: PlainChain) => void
  readonly reject: (error: unknown) => void
}

/** Time for the last read before a timeout. */
const lastReadMs = 1_000

export class ChainWaits {
  readonly #options: WaitsOptions
  readonly #pending = new Set<PendingWait>()
  readonly #subscriptions = new Map<string, Promise<Unlisten>>()
  /** Waits whose chains are read next, in one call. */
  #toRead: Set<PendingWait> | undefined

  constructor(options: WaitsOptions) {
    this.#options = options
  }

  /** @throws WAIT_TIMEOUT, CHAIN_NOT_FOUND, CHAIN_FAILED, CHAIN_CANCELLED, or the signal's reason */
  async wait(chain: JobRef, { timeoutMs, pollMs, signal }: WaitRequest): Promise<PlainChain> {
    signal?.throwIfAborted()
    const { clock } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<PlainChain>()
    const wait: PendingWait = { chain, resolve, reject }
    this.#pending.add(wait)
    const timer = clock.after(timeoutMs, () => this.#expire(wait, timeoutMs))
    let polling: Timer
    const poll = (): void => {
      polling = clock.after(pollMs, () => {
        this.#read(wait)
        poll()
      })
    }
    poll()
    const onAbort = (): void => reject(signal!.reason)
    signal?.addEventListener('abort', onAbort)
    try {
      void this.#listen(chain.type).then(() => this.#read(wait))
      return await promise
    } finally {
      this.#pending.delete(wait)
      timer.cancel()
      polling!.cancel()
      signal?.removeEventListener('abort', onAbort)
    }
  }

  /** Rejects every wait, and ends the subscriptions. */
  async close(): Promise<void> {
    const closed = new HoldfastError(
      'STORAGE_CLOSED',
      'the client was closed while the call waited. The chain goes on.',
    )
    for (const { reject } of this.#pending) reject(closed)
    const subscriptions = [...this.#subscriptions.values()]
    this.#subscriptions.clear()
    for (const subscription of subscriptions) {
      try {
        const unlisten = await subscription
        await unlisten()
      } catch (error) {
        this.#options.publishEvent({ name: 'error', error: error as Error })
      }
    }
  }

  /** Never rejects: without hints there is the poll, and the next wait tries to listen again. */
  async #listen(type: string): Promise<void> {
    const { storage, publishEvent } = this.#options
    let subscription = this.#subscriptions.get(type)
    if (!subscription) {
      subscription = storage.listen([{ kind: 'done', type }], ({ ids, gap }) => this.#hint(type, gap ? undefined : ids))
      this.#subscriptions.set(type, subscription)
    }
    try {
      await subscription
    } catch (error) {
      if (this.#subscriptions.get(type) === subscription) this.#subscriptions.delete(type)
      publishEvent({ name: 'error', error: error as Error })
    }
  }

  #hint(type: string, ids: readonly string[] | undefined): void {
    for (const wait of this.#pending) {
      const { chain } = wait
      if (chain.type === type && (!ids || ids.includes(chain.id))) this.#read(wait)
    }
  }

  /** Reads that are due together are one call: hints of one batch, and polls of waits that began together. */
  #read(wait: PendingWait): void {
    if (this.#toRead) return void this.#toRead.add(wait)
    const waits = (this.#toRead = new Set([wait]))
    this.#options.clock.soon(() => {
      this.#toRead = undefined
      const all = [...waits]
      for (let start = 0; start < all.length; start += engineDefaults.batch) {
        void this.#readAll(all.slice(start, start + engineDefaults.batch))
      }
    })
  }

  /** A storage that fails is read again by the poll. A closed one will not answer any more. */
  async #readAll(waits: readonly PendingWait[]): Promise<void> {
    try {
      const refs = waits.map(({ chain }) => chain)
      const records = await this.#options.storage.get(refs, { parts: chainParts })
      waits.forEach((wait, index) => answer(wait, records[index]))
    } catch (error) {
      if (isHoldfastError(error, 'STORAGE_CLOSED')) for (const { reject } of waits) reject(error)
      else this.#options.publishEvent({ name: 'error', error: error as Error })
    }
  }

  #expire(wait: PendingWait, timeoutMs: number): void {
    const { typeName, id } = chainRefOf(wait.chain)
    const timeOut = (): void => wait.reject(new WaitForJobChainCompletionTimeoutError(typeName, id, timeoutMs))
    const timer = this.#options.clock.after(lastReadMs, timeOut)
    void this.#readAll([wait]).finally(() => {
      timer.cancel()
      timeOut()
    })
  }
}

function answer({ chain, resolve, reject }: PendingWait, record: JobRecord | undefined): void {
  const { typeName, id } = chainRefOf(chain)
  try {
    if (!record || record.chainIndex !== 0) throw chainNotFound({ typeName, id })
    const tail = record.tail ?? record
    if (!isTerminal(tail.state)) return
    if (tail.state === 'failed') throw new JobChainFailedError(typeName, id, errorOf(tail))
    if (tail.state === 'cancelled') throw cancelledError({ typeName, id }, tail.cancelReason)
    resolve(chainOf(record))
  } catch (error) {
    reject(error)
  }
}

function cancelledError({ typeName, id }: { typeName: string; id: string }, reason: string | undefined): HoldfastError {
  const message = `chain '${id}' of '${typeName}' was cancelled${reason === undefined ? '' : `: ${reason}`}`
  return new HoldfastError('CHAIN_CANCELLED', message, { typeName, chainId: id })
}
