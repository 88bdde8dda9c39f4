// A simulated process: it has a clock of its own, may be killed (its callbacks never run again), and may stand still (they run when
// it goes on).

import type { Clock } from 'holdfast'
import type { Random } from '../../random.ts'
import type { Timeline } from './timeline.ts'

/** Start of every run, as epoch ms. */
export const epoch = 1_767_225_600_000

export interface NodeParts {
  readonly timeline: Timeline
  readonly random: Random
  /** Unique in the run. */
  nextId(): string
}

export class SimulatedNode {
  readonly name: string
  readonly clock: Clock
  /** How far its wall clock is from the world's, in ms. */
  offsetMs = 0
  #state: 'running' | 'paused' | 'dead' = 'running'
  /** What came while it stood still. */
  #deferred: (() => void)[] = []
  #timers = 0
  /** Calls that it sent and that are not answered. */
  unanswered = 0

  constructor(name: string, { timeline, random, nextId }: NodeParts) {
    this.name = name
    this.clock = {
      now: () => Math.floor(epoch + timeline.now + this.offsetMs),
      monotonic: () => timeline.now,
      after: (ms, callback, options) => {
        if (ms === Infinity) return { cancel: () => {} }
        let isSet = true
        // Others do not keep a process alive.
        const counts = options?.keepsAlive === false ? 0 : 1
        this.#timers += counts
        const unset = (): boolean => {
          if (!isSet) return false
          isSet = false
          this.#timers -= counts
          return true
        }
        // In whole milliseconds, as the platform's timers.
        const cancel = timeline.after(Math.ceil(Math.max(0, ms)), () =>
          this.deliver(() => void (unset() && callback())),
        )
        return {
          cancel: () => {
            if (unset()) cancel()
          },
        }
      },
      soon: (callback) => void timeline.after(0, () => this.deliver(callback)),
      random: () => random.next(),
      newId: nextId,
    }
  }

  get isDead(): boolean {
    return this.#state === 'dead'
  }

  get isPaused(): boolean {
    return this.#state === 'paused'
  }

  /** Timers that are set, have not fired, and keep the process alive. */
  get timers(): number {
    return this.#timers
  }

  /** Something reaches the process: now, later if it stands still, or never. */
  deliver(callback: () => void): void {
    if (this.#state === 'running') callback()
    else if (this.#state === 'paused') this.#deferred.push(callback)
  }

  kill(): void {
    this.#state = 'dead'
    this.#deferred = []
  }

  pause(): void {
    if (this.#state === 'running') this.#state = 'paused'
  }

  /** @param timeline runs each deferred callback as an event of its own */
  resume(timeline: Timeline): void {
    if (this.#state !== 'paused') return
    this.#state = 'running'
    for (const callback of this.#deferred.splice(0)) timeline.after(0, () => this.deliver(callback))
  }
}
