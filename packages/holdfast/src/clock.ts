// Time, timers, randomness and ids: whatever differs from run to run comes from here, and only from here (a lint rule
// keeps it so). Give everything a `fakeClock()` of holdfast/testing, and a run follows from its seed.

import { randomFillSync, randomInt } from 'node:crypto'

export interface Timer {
  cancel(): void
}

export interface Clock {
  /** Epoch ms. Never used to decide what is due: that is the storage's time. */
  now(): number
  /** Ms of a clock that never jumps, for durations and local deadlines. */
  monotonic(): number
  /** Calls back once, not before `ms` have passed, however long that is. @param options.keepsAlive hold the process open meanwhile; @default true */
  after(ms: number, callback: () => void, options?: { readonly keepsAlive?: boolean }): Timer
  /** Calls back once the I/O at hand has been seen to. */
  soon(callback: () => void): void
  /** In [0, 1). */
  random(): number
  /** A UUIDv7. */
  newId(): string
}

/** The longest delay that a timer of the platform can hold; longer ones are chained. */
const longestTimerMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback, options) {
    let timer: NodeJS.Timeout
    const due = performance.now() + ms
    const arm = (left: number): void => {
      const wait = Math.min(left, longestTimerMs)
      timer = setTimeout(() => {
        // A timer may fire up to a millisecond early; nobody who waits for an instant wants to see it that way.
        const rest = due - performance.now()
        if (rest > 0) arm(Math.ceil(rest))
        else callback()
      }, wait)
      if (options?.keepsAlive === false) timer.unref()
    }
    if (ms !== Infinity) arm(Math.max(0, ms))
    return { cancel: () => clearTimeout(timer) }
  },
  soon: (callback) => void setImmediate(callback),
  random: () => randomInt(2 ** 47) / 2 ** 47,
  newId: () => uuidV7(Date.now(), someRandom()),
}

/** Random bytes for many ids: to ask for them costs as much for one. */
const pool = Buffer.allocUnsafeSlow(8_192)
let used = pool.length

/** Sixteen that nobody else gets. */
function someRandom(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  return pool.subarray(used, (used += 16))
}

/** Waits for the work, but no longer than that: true if it ended. Rejects only if the work did, in time. */
export async function atMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<false>()
  const timer = clock.after(ms, () => resolve(false))
  try {
    return await Promise.race([work.then(() => true), promise])
  } finally {
    timer.cancel()
  }
}

/** A UUIDv7: sorts by time of making, to the millisecond. */
export function generateId(): string {
  return systemClock.newId()
}

/** @param random 16 bytes; they are overwritten. */
export function uuidV7(now: number, random: Buffer): string {
  random.writeUIntBE(now, 0, 6)
  random[6] = 0x70 | (random[6]! & 0x0f)
  random[8] = 0x80 | (random[8]! & 0x3f)
  const hex = random.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
