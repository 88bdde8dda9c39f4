// Time, timers, randomness and ids come from here alone; a lint rule enforces it. With a `fakeClock()` of holdfast/testing in every
// place, a run is determined by its seed.

import { randomFillSync, randomInt } from 'node:crypto'
// Imported, although it is a global: that one is behind a getter, and every job reads this clock.
import { performance } from 'node:perf_hooks'

/** A pending callback of Clock.after(). */
export interface Timer {
  cancel(): void
}

/** Source of local time, timers, randomness and ids. */
export interface Clock {
  /** Returns epoch ms. Never used to decide what is due: the storage's clock decides that. */
  now(): number
  /** Returns ms of a monotonic clock, for durations and local deadlines. */
  monotonic(): number
  /**
   * Calls back once, not before `ms` have passed. Any length is allowed; Infinity never calls back.
   * @param options.keepsAlive whether the timer keeps the process alive; @default true
   */
  after(ms: number, callback: () => void, options?: { readonly keepsAlive?: boolean }): Timer
  /** Calls back in the next pass of the event loop, after pending I/O. */
  soon(callback: () => void): void
  /**
   * Calls back once the current callback and all promise reactions that follow from it have run, before the next pass of the event
   * loop. Timers and I/O wait meanwhile, so a caller must bound how often it does so in one pass. Undefined: `soon` is used instead.
   */
  endOfTick?(callback: () => void): void
  /** Returns a number in [0, 1). */
  random(): number
  /** Returns a UUIDv7. */
  newId(): string
}

/** Longest delay of a platform timer; longer ones are chained. */
const longestTimerMs = 2 ** 31 - 1

/** One object: every call to a storage has a timer, which nearly never fires. */
class SystemTimer implements Timer {
  readonly #due: number
  readonly #callback: () => void
  readonly #keepsAlive: boolean
  #timeout: NodeJS.Timeout | undefined

  constructor(ms: number, callback: () => void, keepsAlive: boolean) {
    this.#due = performance.now() + ms
    this.#callback = callback
    this.#keepsAlive = keepsAlive
    if (ms !== Infinity) this.#arm(Math.max(0, ms))
  }

  cancel(): void {
    clearTimeout(this.#timeout)
  }

  #arm(ms: number): void {
    this.#timeout = setTimeout(() => this.#fire(), Math.min(ms, longestTimerMs))
    if (!this.#keepsAlive) this.#timeout.unref()
  }

  #fire(): void {
    // A platform timer may fire up to a millisecond early.
    const leftMs = this.#due - performance.now()
    if (leftMs > 0) this.#arm(Math.ceil(leftMs))
    else this.#callback()
  }
}

/** The clock of the system: Date, performance, setTimeout and node:crypto. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, callback, options) => new SystemTimer(ms, callback, options?.keepsAlive !== false),
  soon: (callback) => void setImmediate(callback),
  // By way of a promise reaction: inside a callback of nextTick(), another nextTick() comes before the reactions.
  endOfTick: (callback) => queueMicrotask(() => process.nextTick(callback)),
  random: () => randomInt(2 ** 47) / 2 ** 47,
  newId: () => uuidV7(Date.now(), nextRandom()),
}

/** Random bytes for many ids at a time: one call for all costs as much as one call for one. */
const pool = Buffer.allocUnsafeSlow(8_192)
let used = pool.length

/** The next 16 bytes of the pool. */
function nextRandom(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  return pool.subarray(used, (used += 16))
}

/** Waits for `work`, at most `ms`. @returns whether it ended in time @throws what the work rejects with, in time */
export async function atMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<false>()
  const timer = clock.after(ms, () => resolve(false))
  try {
    return await Promise.race([work.then(() => true), promise])
  } finally {
    timer.cancel()
  }
}

/** Makes a UUIDv7. Ids sort by the millisecond in which they were made. */
export function generateId(): string {
  return systemClock.newId()
}

/** @param random 16 bytes, which are overwritten */
export function uuidV7(now: number, random: Buffer): string {
  random.writeUIntBE(now, 0, 6)
  random[6] = 0x70 | (random[6]! & 0x0f)
  random[8] = 0x80 | (random[8]! & 0x3f)
  const hex = random.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
