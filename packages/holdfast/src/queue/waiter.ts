// Waiting for what becomes of a job: one subscription for all, a poll underneath, and a last look before giving up.
// Invariant: a wait ends with the outcome of the job it was told of (its token), never with that of a later one of the id.

import type { Clock, Timer } from '../clock.ts'
import { TimeoutError } from '../errors.ts'
import type { Tell } from '../engine/events.ts'
import { engineDefaults } from '../engine/defaults.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import type { AddVerdict, JobRecord, Signal, Standing, Unlisten } from '../storage/storage.ts'
import { isTerminal } from '../storage/rules/job/states.ts'

/** The record at its end; the job itself if it had completed before, or a hint told of it; or gone. */
export type WaitEnd = { readonly record: JobRecord } | { readonly standing: Standing } | 'gone'

type Completed = NonNullable<Signal['completed']>[number]

interface Watch {
  readonly id: string
  /** Unknown until the add was answered. */
  token: string | undefined
  /** Something ended under this id before that; and what the hint told of it. */
  hinted: boolean
  told: Completed | undefined
  readonly resolve: (end: WaitEnd) => void
  readonly reject: (error: unknown) => void
}

interface WaitersOptions {
  readonly storage: Pick<GuardedStorage, 'listen' | 'get'>
  connect(): Promise<void>
  readonly clock: Clock
  readonly type: string
  readonly tell: Tell
}

/** For the last look before a timeout. */
const lastLookMs = 1_000

export class Waiters {
  readonly #options: WaitersOptions
  readonly #watches = new Map<string, Set<Watch>>()
  #listening: Promise<Unlisten> | undefined
  #poll: Timer | undefined
  #asked: Set<Watch> | undefined
  #closed = false

  constructor(options: WaitersOptions) {
    this.#options = options
  }

  /**
   * Adds the job, then waits. The time counts from the call.
   * @throws TimeoutError, the signal's reason, or whatever the add rejects with
   */
  async wait(id: string, add: () => Promise<AddVerdict>, timeoutMs: number, signal?: AbortSignal): Promise<WaitEnd> {
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<WaitEnd>()
    const watch: Watch = { id, token: undefined, hinted: false, told: undefined, resolve, reject }
    this.#enter(watch)
    const timer = timeoutMs > 0 ? this.#options.clock.after(timeoutMs, () => this.#expire(watch, timeoutMs)) : undefined
    const onAbort = (): void => reject(signal!.reason)
    signal?.addEventListener('abort', onAbort)
    try {
      this.#begin(watch, add, timeoutMs).catch(reject)
      return await promise
    } finally {
      timer?.cancel()
      signal?.removeEventListener('abort', onAbort)
      this.#leave(watch)
    }
  }

  /** Ends every wait, and listens no more. */
  async close(error: Error): Promise<void> {
    this.#rejectAll(error)
    await this.#unlisten()
    // Those that began meanwhile.
    this.#rejectAll(error)
    this.#closed = true
  }

  #rejectAll(error: Error): void {
    for (const watches of this.#watches.values()) for (const watch of watches) watch.reject(error)
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

  async #begin(watch: Watch, add: () => Promise<AddVerdict>, timeoutMs: number): Promise<void> {
    await this.#options.connect()
    await this.#listen()
    // Also if the caller was told of a timeout or an abort meanwhile: both say that the job goes on.
    const verdict = await add()
    if (verdict.verdict !== 'added' && verdict.verdict !== 'duplicate') return watch.resolve('gone')
    const { job } = verdict
    if (verdict.verdict === 'duplicate' && job.state === 'completed') return watch.resolve({ standing: job })
    watch.token = job.token
    if (timeoutMs === 0) {
      await this.#look([watch])
      watch.reject(new TimeoutError(watch.id, 0))
    } else if (watch.hinted || isTerminal(job.state)) {
      this.#heed(watch, watch.told)
    }
  }

  /** Listens before it adds, so that no end falls between the two. */
  async #listen(): Promise<void> {
    const { storage, type } = this.#options
    const listening = (this.#listening ??= storage.listen([{ kind: 'done', type }], ({ ids, completed, gap }) =>
      this.#hint(gap ? undefined : ids, completed),
    ))
    try {
      await listening
    } catch (error) {
      if (this.#listening === listening) this.#listening = undefined
      throw error
    }
  }

  #enter(watch: Watch): void {
    const watches = this.#watches.get(watch.id)
    if (watches) watches.add(watch)
    else this.#watches.set(watch.id, new Set([watch]))
    this.#poll ??= this.#options.clock.after(engineDefaults.waitPollMs, () => this.#lookAtAll())
  }

  #leave(watch: Watch): void {
    const watches = this.#watches.get(watch.id)
    watches?.delete(watch)
    if (watches?.size === 0) this.#watches.delete(watch.id)
    if (this.#watches.size > 0) return
    this.#poll?.cancel()
    this.#poll = undefined
    // A queue that was stopped keeps no subscription for later.
    if (this.#closed) void this.#unlisten()
  }

  #hint(ids: readonly string[] | undefined, completed: readonly Completed[] = []): void {
    const toldOf = new Map(completed.map((one) => [one.id, one]))
    for (const id of ids ?? this.#watches.keys()) {
      const told = toldOf.get(id)
      for (const watch of this.#watches.get(id) ?? []) {
        watch.hinted = true
        watch.told = told
        if (watch.token !== undefined) this.#heed(watch, told)
      }
    }
  }

  /** What a hint told of another job of this id is none of its business. */
  #heed(watch: Watch, told: Completed | undefined): void {
    if (told?.token !== watch.token) return this.#ask(watch)
    const { id, token, result } = told!
    watch.resolve({ standing: { type: this.#options.type, id, token, state: 'completed', result } })
  }

  #lookAtAll(): void {
    this.#poll = undefined
    for (const watches of this.#watches.values()) for (const watch of watches) if (watch.token) this.#ask(watch)
    if (this.#watches.size > 0) {
      this.#poll = this.#options.clock.after(engineDefaults.waitPollMs, () => this.#lookAtAll())
    }
  }

  /** Those who ask in one tick are answered by one read. */
  #ask(watch: Watch): void {
    if (this.#asked) {
      this.#asked.add(watch)
      return
    }
    const asked = (this.#asked = new Set([watch]))
    queueMicrotask(() => {
      this.#asked = undefined
      const all = [...asked]
      for (let start = 0; start < all.length; start += engineDefaults.batch) {
        // Not lost: the poll looks again.
        this.#look(all.slice(start, start + engineDefaults.batch)).catch((error: unknown) =>
          this.#options.tell({ name: 'error', error: error as Error }),
        )
      }
    })
  }

  async #look(watches: readonly Watch[]): Promise<void> {
    const { storage, type } = this.#options
    const refs = watches.map(({ id }) => ({ type, id }))
    const records = await storage.get(refs, { parts: ['result', 'error'] })
    watches.forEach((watch, index) => {
      const record = records[index]
      if (!record || record.token !== watch.token) watch.resolve('gone')
      else if (isTerminal(record.state)) watch.resolve({ record })
    })
  }

  #expire(watch: Watch, timeoutMs: number): void {
    const giveUp = (): void => watch.reject(new TimeoutError(watch.id, timeoutMs))
    if (watch.token === undefined) return giveUp()
    const timer = this.#options.clock.after(lastLookMs, giveUp)
    this.#look([watch])
      .then(giveUp, giveUp)
      .finally(() => timer.cancel())
  }
}
