// Waits for the outcomes of jobs: one subscription for all waits, a fallback poll, and one last read before a timeout.
// Invariant: a wait ends with the outcome of the job that its add returned (by token), never of a later job with the same id.

import type { Clock, Timer } from '../clock.ts'
import { engineDefaults } from '../engine/defaults.ts'
import type { Tell } from '../engine/events.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import { TimeoutError } from '../errors.ts'
import { isTerminal } from '../storage/rules/job/states.ts'
import type { AddVerdict, JobRecord, Signal, Standing, Unlisten } from '../storage/storage.ts'

/**
 * How a wait ended. `record`: read from the storage. `standing`: a completed job, as the add or a hint described it. `gone`: the job
 * was removed, replaced or expired before.
 */
export type WaitEnd = { readonly record: JobRecord } | { readonly standing: Standing } | 'gone'

type Completed = NonNullable<Signal['completed']>[number]

interface Wait {
  readonly id: string
  /** Token of the job. Undefined until the add is answered. */
  token: string | undefined
  /** Whether a hint for this id came; and the completed job that it described, if any. */
  hinted: boolean
  hint: Completed | undefined
  readonly resolve: (end: WaitEnd) => void
  readonly reject: (error: unknown) => void
}

interface WaitsOptions {
  readonly storage: Pick<GuardedStorage, 'listen' | 'get'>
  connect(): Promise<void>
  readonly clock: Clock
  readonly type: string
  readonly tell: Tell
}

/** Longest time of the last read before a timeout, in ms. */
const lastReadMs = 1_000

export class Waits {
  readonly #options: WaitsOptions
  readonly #waits = new Map<string, Set<Wait>>()
  #listening: Promise<Unlisten> | undefined
  #poll: Timer | undefined
  /** Waits whose records are read together at the end of this tick. */
  #toRead: Set<Wait> | undefined
  #closed = false

  constructor(options: WaitsOptions) {
    this.#options = options
  }

  /**
   * Adds the job, then waits for its end. The timeout counts from the call.
   * @throws TimeoutError, the signal's reason, or what the add rejects with
   */
  async wait(id: string, add: () => Promise<AddVerdict>, timeoutMs: number, signal?: AbortSignal): Promise<WaitEnd> {
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<WaitEnd>()
    const wait: Wait = { id, token: undefined, hinted: false, hint: undefined, resolve, reject }
    this.#register(wait)
    const timer = timeoutMs > 0 ? this.#options.clock.after(timeoutMs, () => this.#timeOut(wait, timeoutMs)) : undefined
    const onAbort = (): void => reject(signal!.reason)
    signal?.addEventListener('abort', onAbort)
    try {
      this.#begin(wait, add, timeoutMs).catch(reject)
      return await promise
    } finally {
      timer?.cancel()
      signal?.removeEventListener('abort', onAbort)
      this.#unregister(wait)
    }
  }

  /** Rejects every wait, and ends the subscription. */
  async close(error: Error): Promise<void> {
    this.#rejectAll(error)
    await this.#unlisten()
    // Waits that began meanwhile.
    this.#rejectAll(error)
    this.#closed = true
  }

  #rejectAll(error: Error): void {
    for (const waits of this.#waits.values()) for (const wait of waits) wait.reject(error)
  }

  async #unlisten(): Promise<void> {
    const listening = this.#listening
    this.#listening = undefined
    try {
      const unlisten = await listening
      await unlisten?.()
    } catch (problem) {
      this.#options.tell({ name: 'error', error: problem as Error })
    }
  }

  async #begin(wait: Wait, add: () => Promise<AddVerdict>, timeoutMs: number): Promise<void> {
    await this.#options.connect()
    await this.#listen()
    // Sent also if the wait timed out or was aborted meanwhile: both say that the job goes on.
    const verdict = await add()
    if (verdict.verdict !== 'added' && verdict.verdict !== 'duplicate') return wait.resolve('gone')
    const { job } = verdict
    if (verdict.verdict === 'duplicate' && job.state === 'completed') return wait.resolve({ standing: job })
    wait.token = job.token
    if (timeoutMs === 0) {
      await this.#read([wait])
      wait.reject(new TimeoutError(wait.id, 0))
    } else if (wait.hinted || isTerminal(job.state)) {
      this.#applyHint(wait, wait.hint)
    }
  }

  /** Subscribes before the add, so that no end is missed between the two. */
  async #listen(): Promise<void> {
    const { storage, type } = this.#options
    const listening = (this.#listening ??= storage.listen([{ kind: 'done', type }], ({ ids, completed, gap }) =>
      this.#receive(gap ? undefined : ids, completed),
    ))
    try {
      await listening
    } catch (error) {
      if (this.#listening === listening) this.#listening = undefined
      throw error
    }
  }

  #register(wait: Wait): void {
    const waits = this.#waits.get(wait.id)
    if (waits) waits.add(wait)
    else this.#waits.set(wait.id, new Set([wait]))
    this.#poll ??= this.#options.clock.after(engineDefaults.waitPollMs, () => this.#pollAll())
  }

  #unregister(wait: Wait): void {
    const waits = this.#waits.get(wait.id)
    waits?.delete(wait)
    if (waits?.size === 0) this.#waits.delete(wait.id)
    if (this.#waits.size > 0) return
    this.#poll?.cancel()
    this.#poll = undefined
    // A stopped queue keeps no subscription.
    if (this.#closed) void this.#unlisten()
  }

  /** @param ids undefined: hints may be missing, so every wait is checked */
  #receive(ids: readonly string[] | undefined, completed: readonly Completed[] = []): void {
    const completedById = new Map(completed.map((one) => [one.id, one]))
    for (const id of ids ?? this.#waits.keys()) {
      const hint = completedById.get(id)
      for (const wait of this.#waits.get(id) ?? []) {
        wait.hinted = true
        wait.hint = hint
        if (wait.token !== undefined) this.#applyHint(wait, hint)
      }
    }
  }

  /** Resolves the wait if the hint is of its job. A hint of another job with this id only causes a read. */
  #applyHint(wait: Wait, hint: Completed | undefined): void {
    if (hint?.token !== wait.token) return this.#readSoon(wait)
    const { id, token, result } = hint!
    wait.resolve({ standing: { type: this.#options.type, id, token, state: 'completed', result } })
  }

  #pollAll(): void {
    this.#poll = undefined
    for (const waits of this.#waits.values()) for (const wait of waits) if (wait.token) this.#readSoon(wait)
    if (this.#waits.size > 0) {
      this.#poll = this.#options.clock.after(engineDefaults.waitPollMs, () => this.#pollAll())
    }
  }

  /** Reads the record at the end of this tick, together with those of other waits. */
  #readSoon(wait: Wait): void {
    if (this.#toRead) {
      this.#toRead.add(wait)
      return
    }
    const toRead = (this.#toRead = new Set([wait]))
    queueMicrotask(() => {
      this.#toRead = undefined
      const all = [...toRead]
      for (let start = 0; start < all.length; start += engineDefaults.batch) {
        // A failed read is repeated by the poll.
        this.#read(all.slice(start, start + engineDefaults.batch)).catch((error: unknown) =>
          this.#options.tell({ name: 'error', error: error as Error }),
        )
      }
    })
  }

  async #read(waits: readonly Wait[]): Promise<void> {
    const { storage, type } = this.#options
    const refs = waits.map(({ id }) => ({ type, id }))
    const records = await storage.get(refs, { parts: ['result', 'error'] })
    waits.forEach((wait, index) => {
      const record = records[index]
      if (!record || record.token !== wait.token) wait.resolve('gone')
      else if (isTerminal(record.state)) wait.resolve({ record })
    })
  }

  /** Reads the record a last time, then rejects. */
  #timeOut(wait: Wait, timeoutMs: number): void {
    const reject = (): void => wait.reject(new TimeoutError(wait.id, timeoutMs))
    if (wait.token === undefined) return reject()
    const timer = this.#options.clock.after(lastReadMs, reject)
    this.#read([wait])
      .then(reject, reject)
      .finally(() => timer.cancel())
  }
}
