// Waits for the outcomes of jobs: one subscription for all waits, a fallback poll, and one last read before a timeout.
// Invariant: a wait ends with the outcome of the job that its add returned (by token), never of a later job with the same id.

import type { Clock, Timer } from '../clock.ts'
import type { Connection } from '../engine/connection.ts'
import { engineDefaults } from '../engine/defaults.ts'
import type { PublishEvent } from '../engine/events.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import { TimeoutError } from '../errors.ts'
import { isTerminal } from '../storage/rules/job/states.ts'
import type { Bytes, Unlisten } from '../storage/storage.ts'
import { ById } from './by-id.ts'
import type { Completed, Wait, WaitEnd, WaitStart } from './wait.ts'

export type { WaitEnd, WaitStart } from './wait.ts'

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
  readonly #waits = new ById<Wait>()
  /** Waits that began in this pass of the event loop. */
  #begun: Wait[] = []
  #listening: Promise<Unlisten> | undefined
  /** Whether `#listening` has resolved. */
  #isListening = false
  /** One for all waits: it fires at the first of their deadlines, or when their records are to be read. */
  #timer: Timer | undefined
  #firesAt = Infinity
  /** When the records are read, in case hints were lost: local, monotonic ms. Undefined: there was no wait in the last pass. */
  #pollAt: number | undefined
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
  wait(id: string, start: () => Promise<WaitStart>, timeoutMs: number, signal?: AbortSignal): Promise<WaitEnd> {
    if (signal?.aborted) return Promise.reject<WaitEnd>(signal.reason as Error)
    const { promise, resolve, reject } = Promise.withResolvers<WaitEnd>()
    const wait: Wait = {
      id,
      token: undefined,
      hinted: false,
      hint: undefined,
      timeoutMs,
      deadline: this.#options.clock.monotonic() + timeoutMs,
      isTimedOut: timeoutMs === 0,
      isOver: false,
      offAbort: undefined,
      resolve,
      reject,
    }
    this.#waits.add(wait)
    if (this.#begun.push(wait) === 1) this.#options.clock.soon(this.#arm)
    if (signal) this.#watch(wait, signal)
    // Nearly always both were done by an earlier wait: then no tick is spent on them.
    if (this.#options.connection.isOpen && this.#isListening) this.#start(wait, start)
    else void this.#startLater(wait, start)
    return promise
  }

  #watch(wait: Wait, signal: AbortSignal): void {
    const onAbort = (): void => this.#reject(wait, signal.reason)
    signal.addEventListener('abort', onAbort)
    wait.offAbort = () => signal.removeEventListener('abort', onAbort)
  }

  #resolve(wait: Wait, end: WaitEnd): void {
    if (this.#end(wait)) wait.resolve(end)
  }

  #reject(wait: Wait, error: unknown): void {
    if (this.#end(wait)) wait.reject(error)
  }

  /** Ends a wait, once. @returns false if it was over */
  #end(wait: Wait): boolean {
    if (wait.isOver) return false
    wait.isOver = true
    wait.offAbort?.()
    this.#waits.delete(wait)
    if (!this.#waits.isEmpty) return true
    this.#timer?.cancel()
    this.#firesAt = Infinity
    this.#pollAt = undefined
    // A stopped queue keeps no subscription.
    if (this.#closed) void this.#unlisten()
    return true
  }

  /** Sets the timer for waits that have not ended in the pass of the event loop that began them, as they may on an embedded storage. */
  readonly #arm = (): void => {
    const begun = this.#begun
    this.#begun = []
    if (this.#waits.isEmpty) return
    let first = (this.#pollAt ??= this.#options.clock.monotonic() + engineDefaults.waitPollMs)
    for (const { isOver, isTimedOut, deadline } of begun) if (!isOver && !isTimedOut) first = Math.min(first, deadline)
    this.#fireAt(first)
  }

  #fireAt(at: number): void {
    if (at >= this.#firesAt) return
    this.#timer?.cancel()
    this.#firesAt = at
    this.#timer = this.#options.clock.after(at - this.#options.clock.monotonic(), this.#fire)
  }

  readonly #fire = (): void => {
    const now = this.#options.clock.monotonic()
    this.#firesAt = Infinity
    for (const wait of this.#waits) if (!wait.isTimedOut && wait.deadline <= now) this.#timeOut(wait)
    if (this.#waits.isEmpty) return
    if (this.#pollAt! <= now) {
      this.#pollAt = now + engineDefaults.waitPollMs
      for (const wait of this.#waits) if (wait.token) this.#readSoon(wait)
    }
    let first = this.#pollAt!
    for (const { isTimedOut, deadline } of this.#waits) if (!isTimedOut) first = Math.min(first, deadline)
    this.#fireAt(first)
  }

  /**
   * Resolves the waits for a job that this process has completed. Without a read, which a short TTL may come before.
   * @param token of the job @param result as it was stored
   */
  onCompleted(id: string, token: string, result: Bytes | undefined): void {
    // Called for every job; nearly none is waited for.
    if (this.#waits.isEmpty) return
    for (const wait of this.#waits.of(id)) {
      if (wait.token === token) this.#applyHint(wait, { id, token, result })
      // The add is not answered yet: #begin() applies it.
      else if (wait.token === undefined) Object.assign(wait, { hinted: true, hint: { id, token, result } })
    }
  }

  /** Rejects every wait, and ends the subscription. */
  async close(error: Error): Promise<void> {
    this.#rejectAll(error)
    await this.#unlisten()
    // Before the waits that began meanwhile end: the last of them ends their subscription.
    this.#closed = true
    this.#rejectAll(error)
  }

  #rejectAll(error: Error): void {
    for (const wait of this.#waits) this.#reject(wait, error)
  }

  async #unlisten(): Promise<void> {
    const listening = this.#listening
    this.#listening = undefined
    this.#isListening = false
    try {
      await (
        await listening
      )?.()
    } catch (problem) {
      this.#options.publishEvent({ name: 'error', error: problem as Error })
    }
  }

  async #startLater(wait: Wait, start: () => Promise<WaitStart>): Promise<void> {
    try {
      if (!this.#options.connection.isOpen) await this.#options.connection.use()
      if (!this.#isListening) await this.#listen()
      this.#start(wait, start)
    } catch (error) {
      this.#reject(wait, error)
    }
  }

  /** Called also if the wait timed out or was aborted meanwhile: both say that the job goes on. */
  #start(wait: Wait, start: () => Promise<WaitStart>): void {
    try {
      start().then<void, void>(
        (started) => this.#started(wait, started),
        (error: unknown) => this.#reject(wait, error),
      )
    } catch (error) {
      this.#reject(wait, error)
    }
  }

  #started(wait: Wait, started: WaitStart): void {
    if (started === 'gone' || !('job' in started)) return this.#resolve(wait, started)
    if (started.job.id !== wait.id) this.#follow(wait, started.job.id)
    wait.token = started.job.token
    if (wait.timeoutMs === 0) {
      const timedOut = (): void => this.#reject(wait, new TimeoutError(wait.id, 0))
      this.#read([wait]).then(timedOut, (error: unknown) => this.#reject(wait, error))
    } else if (wait.hinted || isTerminal(started.job.state)) {
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

  /** Waits for the job with another id. Hints that came for it before are unknown, so its record is read. */
  #follow(wait: Wait, id: string): void {
    if (wait.isOver) return
    this.#waits.delete(wait)
    wait.id = id
    wait.hinted = true
    wait.hint = undefined
    this.#waits.add(wait)
  }

  /** @param ids undefined: hints may be missing, so every wait is checked */
  #receive(ids: readonly string[] | undefined, completed: readonly Completed[] = []): void {
    // Most ends are of jobs that no call waits for.
    if (this.#waits.isEmpty) return
    // In the order of the ids. Where a driver does not keep to it, the records are read.
    let next = 0
    for (const id of ids ?? this.#waits.ids()) {
      const hint = completed[next]?.id === id ? completed[next++] : undefined
      for (const wait of this.#waits.of(id)) {
        wait.hinted = true
        wait.hint = hint ?? wait.hint
        if (wait.token !== undefined) this.#applyHint(wait, hint)
      }
    }
  }

  /** Resolves the wait if the hint is of its job. A hint of another job with this id only causes a read. */
  #applyHint(wait: Wait, hint: Completed | undefined): void {
    if (hint?.token !== wait.token) return this.#readSoon(wait)
    this.#resolve(wait, { standing: { type: this.#options.type, ...hint!, state: 'completed' } })
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
      if (!record || record.token !== wait.token) this.#options.clock.soon(() => this.#resolve(wait, 'gone'))
      else if (isTerminal(record.state)) this.#resolve(wait, { record })
    })
  }

  /** Reads the record a last time, then rejects. */
  #timeOut(wait: Wait): void {
    wait.isTimedOut = true
    const reject = (): void => this.#reject(wait, new TimeoutError(wait.id, wait.timeoutMs))
    if (wait.token === undefined) return reject()
    const timer = this.#options.clock.after(lastReadMs, reject)
    this.#read([wait])
      .then(reject, reject)
      .finally(() => timer.cancel())
  }
}
