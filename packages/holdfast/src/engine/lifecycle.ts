// start(), run() and stop(), the same for every face.
//
//   idle ──start──► starting ──open resolves──► ready ──stop──► stopping ──close resolves──► idle
//                       └───────── stop ──────────────────────────▲
//
// start() resolves when ready and retries until then; a failure that cannot pass rejects it, and the next start() begins anew.
// stop() ends the retries of a start under way. Both are idempotent, and may be called at any time.

import { atMost, type Clock } from '../clock.ts'
import { engineDefaults } from './defaults.ts'
import { retryUntilReady } from './retry-until-ready.ts'

/** Options of stop(), on every face. */
export interface StopOptions {
  /** How long handlers may go on, in ms, before their signals abort. @default 30_000 */
  readonly graceMs?: number | undefined
}

/** Options of run(), on every face. */
export interface RunOptions extends StopOptions {
  /** Stops it. */
  readonly signal?: AbortSignal | undefined
}

export interface LifecycleParts<Options> {
  readonly clock: Clock
  /** Time that a stop gives to the storage in all, in ms. @default 5_000 */
  readonly stopWritesMs?: number
  /**
   * Connects and begins to work. A call that rejects leaves nothing behind.
   * @param signal aborts when a stop no longer waits for this call: then it must not begin to work
   */
  open(signal: AbortSignal): Promise<unknown>
  /** Ends the work and disconnects. Never rejects. @param leftMs what is left of the time that a stop gives to the storage */
  close(options: Options, leftMs: number): Promise<void>
  /** Called for each failed try of a start that goes on. */
  onFailure(error: Error): void
}

interface Start {
  /** Ends its retries: a stop was called. */
  readonly stop: AbortController
  /** Ends its try under way: a stop no longer waits for it. */
  readonly abandon: AbortController
  readonly ready: Promise<void>
  isReady: boolean
  readonly ended: PromiseWithResolvers<void>
}

export class Lifecycle<Options> {
  readonly #parts: LifecycleParts<Options>
  #start: Start | undefined
  #stopping: Promise<void> | undefined

  constructor(parts: LifecycleParts<Options>) {
    this.#parts = parts
  }

  /** Aborted by stop(). Undefined while idle or stopping. */
  get signal(): AbortSignal | undefined {
    return this.#start?.stop.signal
  }

  /** Started, and not stopped since. */
  get isReady(): boolean {
    return this.#start?.isReady === true
  }

  get isStopping(): boolean {
    return this.#stopping !== undefined
  }

  /** @throws what `open` rejects with, if it cannot pass */
  start(): Promise<void> {
    return this.#begin().ready
  }

  /** Starts, and resolves once it was stopped. @param signal stops it @param options for that stop */
  async run(signal: AbortSignal | undefined, options: Options): Promise<void> {
    const { ready, ended } = this.#begin()
    const stop = (): void => void this.stop(options)
    signal?.addEventListener('abort', stop, { once: true })
    try {
      if (signal?.aborted) stop()
      await ready
      await ended.promise
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }

  /** @param only the signal of one start: if that start was stopped before, no later one is */
  stop(options: Options, only?: AbortSignal): Promise<void> {
    if (only?.aborted) return this.#stopping ?? Promise.resolve()
    // A start that waits for the stop under way is stopped in its turn.
    if (this.#stopping && this.#start) return this.#stopping.then(() => this.stop(options))
    this.#stopping ??= this.#end(options).finally(() => (this.#stopping = undefined))
    return this.#stopping
  }

  #begin(): Start {
    if (this.#start) return this.#start
    const [stop, abandon] = [new AbortController(), new AbortController()]
    const ready = this.#open(stop.signal, abandon.signal).then(
      () => void (start.isReady = true),
      (error: unknown) => {
        // After a stop it may be another's.
        if (this.#start === start) this.#start = undefined
        throw error
      },
    )
    const start: Start = { stop, abandon, ready, isReady: false, ended: Promise.withResolvers() }
    this.#start = start
    return start
  }

  async #open(stopped: AbortSignal, abandoned: AbortSignal): Promise<void> {
    if (this.#stopping) await this.#stopping
    const { clock, open, onFailure } = this.#parts
    await retryUntilReady(() => open(abandoned), { clock, signal: stopped, onFailure })
  }

  async #end(options: Options): Promise<void> {
    const { clock, close, stopWritesMs = engineDefaults.stopWritesMs } = this.#parts
    const start = this.#start
    this.#start = undefined
    start?.stop.abort()
    const begunAt = clock.monotonic()
    // A storage that does not answer holds up the start, but not the stop. What is ready is closed at once, in this tick: a job that
    // is claimed from now on must not run.
    if (start && !start.isReady) await atMost(clock, stopWritesMs, start.ready).catch(() => {})
    start?.abandon.abort()
    await close(options, Math.max(0, begunAt + stopWritesMs - clock.monotonic()))
    start?.ended.resolve()
  }
}
