// Waits for the outcomes of jobs: one subscription for all waits, a fallback poll, and one last read before a timeout.
// Invariant: a wait ends with the outcome of the job that its add returned (by token), never of a later job with the same id.

import type { Clock, Timer } from '../clock.ts'
import type { Connection } from '../engine/connection.ts'
import { engineDefaults } from '../engine/defaults.ts'
import type { PublishEvent } from '../engine/events.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import { TimeoutError } from '../errors.ts'
import { isTerminal } from '../storage/rules/job/states.ts'
import type { Bytes, JobRecord, Signal, Standing, Unlisten } from '../storage/storage.ts'

/**
 * How a wait ended. `record`: read from the storage. `standing`: a completed job, as the add or a hint described it. `gone`: the job
 * was removed, replaced or expired before.
 */
export type WaitEnd = { readonly record: JobRecord } | { readonly standing: Standing } | 'gone'

/** What a wait is for: a job, or its end if the caller knows it already. */
export type WaitStart = WaitEnd | { readonly job: Pick<Standing, 'id' | 'token' | 'state'> }

type Completed = NonNullable<Signal['completed']>[number]

interface Wait {
  /** Id of the job: of another one than was asked for, if that has its deduplication key. */
  id: string
  /** Token of the job. Undefined until the start is answered. */
  token: string | undefined
  /** Whether a hint for this id came; and the completed job that it described, if any. */
  hinted: boolean
  hint: Completed | undefined
  readonly timeoutMs: number
  /** When it times out: local, monotonic ms. */
  readonly deadline: number
  timer: Timer | undefined
  isOver: boolean
  readonly resolve: (end: WaitEnd) => void
  readonly reject: (error: unknown) => void
}

interface WaitsOptions {
  readonly storage: Pick<GuardedStorage, 'listen' | 'get'>
  readonly connection: Pick<Connection, 'isOpen' | 'use'>
  readonly clock: Clock
  readonly type: string
  readonly publishEvent: PublishEvent
}

/** Longest time of the last read before a timeout, in ms. */
const lastReadMs = 1_000

export class Waits {
  readonly #options: WaitsOptions
  readonly #waits = new Map<string, Set<Wait>>()
  /** Waits that began in this pass of the event loop. */
  #begun: Wait[] = []
  #listening: Promise<Unlisten> | undefined
  /** Whether `#listening` has resolved. */
  #isListening = false
  #poll: Timer | undefined
  /** Waits whose records are read together at the end of this tick. */
  #toRead: Set<Wait> | undefined
  #closed = false

  constructor(options: WaitsOptions) {
    this.#options = options
  }

  /**
   * Listens, then calls `start`, which adds or finds the job, and waits for its end. The timeout counts from the call.
   * @throws TimeoutError, the signal's reason, or what `start` rejects with
   */
  async wait(id: string, start: () => Promise<WaitStart>, timeoutMs: number, signal?: AbortSignal): Promise<WaitEnd> {
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<WaitEnd>()
    const { clock } = this.#options
    const wait: Wait = {
      id,
      token: undefined,
      hinted: false,
      hint: undefined,
      timeoutMs,
      deadline: clock.monotonic() + timeoutMs,
      timer: undefined,
      isOver: false,
      resolve,
      reject,
    }
    this.#register(wait)
    if (this.#begun.push(wait) === 1) clock.soon(this.#arm)
    const onAbort = signal && ((): void => reject(signal.reason))
    if (onAbort) signal.addEventListener('abort', onAbort)
    try {
      this.#begin(wait, start).catch(reject)
      return await promise
    } finally {
      wait.isOver = true
      wait.timer?.cancel()
      if (onAbort) signal.removeEventListener('abort', onAbort)
      this.#unregister(wait)
    }
  }

  /** Sets the timers of waits that have not ended in the pass of the event loop that began them, as they may on an embedded storage. */
  readonly #arm = (): void => {
    const { clock } = this.#options
    const begun = this.#begun
    this.#begun = []
    for (const wait of begun) {
      if (wait.isOver || wait.timeoutMs === 0) continue
      wait.timer = clock.after(wait.deadline - clock.monotonic(), () => this.#timeOut(wait))
    }
    if (this.#waits.size > 0) this.#poll ??= clock.after(engineDefaults.waitPollMs, () => this.#pollAll())
  }

  /**
   * Resolves the waits for a job that this process has completed. Without a read, which a short TTL may come before.
   * @param token of the job @param result as it was stored
   */
  onCompleted(id: string, token: string, result: Bytes | undefined): void {
    // Called for every job; nearly none is waited for.
    const waits = this.#waits.size === 0 ? undefined : this.#waits.get(id)
    if (!waits) return
    for (const wait of waits) {
      if (wait.token === token) this.#applyHint(wait, { id, token, result })
      // The add is not answered yet: #begin() applies it.
      else if (wait.token === undefined) Object.assign(wait, { hinted: true, hint: { id, token, result } })
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
    this.#isListening = false
    try {
      const unlisten = await listening
      await unlisten?.()
    } catch (problem) {
      this.#options.publishEvent({ name: 'error', error: problem as Error })
    }
  }

  async #begin(wait: Wait, start: () => Promise<WaitStart>): Promise<void> {
    // Nearly always both were done by an earlier wait: then no tick is spent on them.
    if (!this.#options.connection.isOpen) await this.#options.connection.use()
    if (!this.#isListening) await this.#listen()
    // Called also if the wait timed out or was aborted meanwhile: both say that the job goes on.
    const started = await start()
    if (started === 'gone' || !('job' in started)) return wait.resolve(started)
    const { job } = started
    if (job.id !== wait.id) this.#follow(wait, job.id)
    wait.token = job.token
    if (wait.timeoutMs === 0) {
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
      if (this.#listening === listening) this.#isListening = true
    } catch (error) {
      if (this.#listening === listening) this.#listening = undefined
      throw error
    }
  }

  #register(wait: Wait): void {
    const waits = this.#waits.get(wait.id)
    if (waits) waits.add(wait)
    else this.#waits.set(wait.id, new Set([wait]))
  }

  /** Waits for the job with another id. Hints that came for it before are unknown, so its record is read. */
  #follow(wait: Wait, id: string): void {
    const waits = this.#waits.get(wait.id)
    // Not registered: the wait ended meanwhile.
    if (!waits?.delete(wait)) return
    if (waits.size === 0) this.#waits.delete(wait.id)
    wait.id = id
    wait.hinted = true
    wait.hint = undefined
    this.#register(wait)
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
    // Most ends are of jobs that no call waits for.
    if (this.#waits.size === 0) return
    const completedById = completed.length < 2 ? undefined : new Map(completed.map((one) => [one.id, one]))
    for (const id of ids ?? this.#waits.keys()) {
      const waits = this.#waits.get(id)
      if (!waits) continue
      const hint = completedById ? completedById.get(id) : completed[0]?.id === id ? completed[0] : undefined
      for (const wait of waits) {
        wait.hinted = true
        wait.hint = hint ?? wait.hint
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
          this.#options.publishEvent({ name: 'error', error: error as Error }),
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
      // A turn later: a job that this process completes now may be gone before its worker tells of the result.
      if (!record || record.token !== wait.token) this.#options.clock.soon(() => wait.resolve('gone'))
      else if (isTerminal(record.state)) wait.resolve({ record })
    })
  }

  /** Reads the record a last time, then rejects. */
  #timeOut(wait: Wait): void {
    const reject = (): void => wait.reject(new TimeoutError(wait.id, wait.timeoutMs))
    if (wait.token === undefined) return reject()
    const timer = this.#options.clock.after(lastReadMs, reject)
    this.#read([wait])
      .then(reject, reject)
      .finally(() => timer.cancel())
  }
}
