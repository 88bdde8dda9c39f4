// A clock that stands still until it is advanced, and whose randomness follows from its seed.

import { type Clock, systemClock, type Timer, uuidV7 } from '../clock.ts'

/** A clock that stands still until advance(). Give it to the storage and to the queue, worker or tasks. */
export interface FakeClock extends Clock {
  /** Lets time pass. Every timer that becomes due fires in its order, and what it triggers runs before the next. */
  advance(ms: number): Promise<void>
  /** Runs everything that needs no time to pass. */
  settle(): Promise<void>
  /** Number of timers that have not fired: to check that none is left behind. */
  readonly pending: number
}

interface FakeTimer extends Timer {
  readonly at: number
  readonly number: number
  readonly callback: () => void
}

/** Options of fakeClock(). */
export interface FakeClockOptions {
  /** Start of the clock, as epoch ms. @default 2026-01-01T00:00:00Z */
  readonly now?: number | undefined
  /** Seed of its randomness. @default 1 */
  readonly seed?: number | undefined
}

/** Turns of the event loop between two timers, for what the first one triggers. */
const turns = 12

async function settle(): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => systemClock.soon(resolve))
}

/** Makes a clock for tests: `new Queue({ storage: new MemoryStorage({ clock }), clock })`. Time passes only by advance(). */
export function fakeClock({ now: start = 1_767_225_600_000, seed = 1 }: FakeClockOptions = {}): FakeClock {
  // Time since the start, not since the epoch: so large a number would lose fractions of a millisecond, and a timer that fires
  // too early by such a fraction would be set again without end.
  let elapsed = 0
  const now = (): number => Math.floor(start + elapsed)
  const random = mulberry32(seed)
  const timers = new Set<FakeTimer>()
  let made = 0

  const next = (until: number): FakeTimer | undefined => {
    let first: FakeTimer | undefined
    for (const timer of timers) {
      if (timer.at > until) continue
      if (!first || timer.at < first.at || (timer.at === first.at && timer.number < first.number)) first = timer
    }
    return first
  }
  return {
    now,
    monotonic: () => elapsed,
    after(ms, callback) {
      const timer: FakeTimer = {
        // In whole milliseconds, as the platform's timers.
        at: elapsed + Math.ceil(Math.max(0, ms)),
        number: ++made,
        callback,
        cancel: () => void timers.delete(timer),
      }
      if (ms !== Infinity) timers.add(timer)
      return timer
    },
    soon: systemClock.soon,
    endOfTick: systemClock.endOfTick!,
    random,
    newId: () => {
      const bytes = Buffer.alloc(16)
      for (let index = 0; index < 16; index++) bytes[index] = Math.floor(random() * 256)
      return uuidV7(now(), bytes)
    },
    async advance(ms) {
      const until = elapsed + ms
      await settle()
      for (let timer = next(until); timer; timer = next(until)) {
        timers.delete(timer)
        elapsed = Math.max(elapsed, timer.at)
        timer.callback()
        await settle()
      }
      elapsed = until
      await settle()
    },
    settle,
    get pending() {
      return timers.size
    },
  }
}

/** A generator of numbers in [0, 1): the same sequence for the same seed. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
