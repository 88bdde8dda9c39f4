// Waiting for chains to end: one subscription per type, shared and kept between waits, a poll underneath.
// Invariant: it listens before it looks, so no end falls between the two.

import type { Clock, Timer } from '../../clock.ts'
import {
  HoldfastError,
  isHoldfastError,
  JobChainFailedError,
  WaitForJobChainCompletionTimeoutError,
} from '../../errors.ts'
import type { Tell } from '../../engine/events.ts'
import { isTerminal } from '../../storage/rules/job/states.ts'
import { engineDefaults } from '../../engine/defaults.ts'
import type { GuardedStorage } from '../../engine/guard.ts'
import type { JobRecord, Unlisten } from '../../storage/storage.ts'
import { chainOf, chainParts, errorOf, jobRefOf, type PlainChain } from './reading.ts'
import type { ChainRef } from '../types/records.ts'

interface WaitsOptions {
  readonly storage: Pick<GuardedStorage, 'listen' | 'get'>
  readonly clock: Clock
  readonly tell: Tell
}

interface Asked {
  readonly timeoutMs: number
  readonly pollIntervalMs: number
  readonly signal?: AbortSignal
}

/** One who waits. */
interface Watch {
  readonly chain: ChainRef
  readonly resolve: (chain: PlainChain) => void
  readonly reject: (error: unknown) => void
}

/** For the last look before a timeout. */
const lastLookMs = 1_000

export class ChainWaits {
  readonly #options: WaitsOptions
  readonly #watches = new Set<Watch>()
  readonly #topics = new Map<string, Promise<Unlisten>>()
  #asked: Set<Watch> | undefined

  constructor(options: WaitsOptions) {
    this.#options = options
  }

  /** @throws WAIT_TIMEOUT, CHAIN_NOT_FOUND, CHAIN_FAILED, CHAIN_CANCELLED, or the signal's reason */
  async wait(chain: ChainRef, { timeoutMs, pollIntervalMs, signal }: Asked): Promise<PlainChain> {
    signal?.throwIfAborted()
    const { clock } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<PlainChain>()
    const watch: Watch = { chain, resolve, reject }
    this.#watches.add(watch)
    const timer = clock.after(timeoutMs, () => this.#expire(watch, timeoutMs))
    let polling: Timer
    const poll = (): void => {
      polling = clock.after(pollIntervalMs, () => {
        this.#ask(watch)
        poll()
      })
    }
    poll()
    const onAbort = (): void => reject(signal!.reason)
    signal?.addEventListener('abort', onAbort)
    try {
      void this.#listen(chain.typeName).then(() => this.#ask(watch))
      return await promise
    } finally {
      this.#watches.delete(watch)
      timer.cancel()
      polling!.cancel()
      signal?.removeEventListener('abort', onAbort)
    }
  }

  /** Ends every wait, and listens no more. */
  async close(): Promise<void> {
    for (const { reject } of this.#watches) reject(new HoldfastError('STORAGE_CLOSED', 'the client was closed'))
    const topics = [...this.#topics.values()]
    this.#topics.clear()
    for (const topic of topics) {
      try {
        await (
          await topic
        )()
      } catch (error) {
        this.#options.tell({ name: 'error', error: error as Error })
      }
    }
  }

  /** Never rejects: without hints there is the poll, and the next wait tries again. */
  async #listen(type: string): Promise<void> {
    const { storage, tell } = this.#options
    let topic = this.#topics.get(type)
    if (!topic) {
      topic = storage.listen([{ kind: 'done', type }], ({ ids, gap }) => this.#hint(type, gap ? undefined : ids))
      this.#topics.set(type, topic)
    }
    try {
      await topic
    } catch (error) {
      if (this.#topics.get(type) === topic) this.#topics.delete(type)
      tell({ name: 'error', error: error as Error })
    }
  }

  #hint(type: string, ids: readonly string[] | undefined): void {
    for (const watch of this.#watches) {
      const { typeName, id } = watch.chain
      if (typeName === type && (!ids || ids.includes(id))) this.#ask(watch)
    }
  }

  /** Those who ask together are answered by one read: hints of one batch, and polls of waits that began together. */
  #ask(watch: Watch): void {
    if (this.#asked) return void this.#asked.add(watch)
    const asked = (this.#asked = new Set([watch]))
    this.#options.clock.soon(() => {
      this.#asked = undefined
      const all = [...asked]
      for (let start = 0; start < all.length; start += engineDefaults.batch) {
        void this.#look(all.slice(start, start + engineDefaults.batch))
      }
    })
  }

  /** A storage that fails is asked again by the poll; one that is closed will not answer any more. */
  async #look(watches: readonly Watch[]): Promise<void> {
    try {
      const refs = watches.map(({ chain }) => jobRefOf(chain))
      const records = await this.#options.storage.get(refs, { parts: chainParts })
      watches.forEach((watch, index) => answer(watch, records[index]))
    } catch (error) {
      if (isHoldfastError(error, 'STORAGE_CLOSED')) for (const { reject } of watches) reject(error)
      else this.#options.tell({ name: 'error', error: error as Error })
    }
  }

  #expire(watch: Watch, timeoutMs: number): void {
    const { typeName, id } = watch.chain
    const giveUp = (): void => watch.reject(new WaitForJobChainCompletionTimeoutError(typeName, id, timeoutMs))
    const timer = this.#options.clock.after(lastLookMs, giveUp)
    void this.#look([watch]).finally(() => {
      timer.cancel()
      giveUp()
    })
  }
}

function answer({ chain, resolve, reject }: Watch, record: JobRecord | undefined): void {
  const about = { typeName: chain.typeName, chainId: chain.id }
  if (!record || record.chainIndex !== 0) return reject(chainNotFound(chain))
  const tail = record.tail ?? record
  if (!isTerminal(tail.state)) return
  if (tail.state === 'failed') return reject(new JobChainFailedError(chain.typeName, chain.id, errorOf(tail)))
  if (tail.state === 'completed') return resolve(chainOf(record))
  const reason = tail.cancelReason === undefined ? '' : `: ${tail.cancelReason}`
  reject(new HoldfastError('CHAIN_CANCELLED', `Chain '${chain.id}' was cancelled${reason}`, about))
}

export function chainNotFound({ typeName, id }: ChainRef): HoldfastError {
  const message = `there is no chain '${id}' of '${typeName}'`
  return new HoldfastError('CHAIN_NOT_FOUND', message, { typeName, chainId: id })
}
