// Keeps loops of calls to an embedded storage from starving timers and jobs.

import type { Clock } from '../clock.ts'

/** Calls to an embedded storage that may follow each other without a turn of the event loop. */
const callsPerTurn = 32

/**
 * Gives the event loop a turn now and then. Calls to an embedded storage resolve in microtasks: a caller that reads in a loop, until a
 * job has completed, or that adds in a loop, would keep every timer from firing, and the jobs from starting.
 */
export class Turns {
  readonly #clock: Clock
  #calls = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a call. True if it should wait for the next turn. */
  isDue(): boolean {
    this.#calls = (this.#calls + 1) % callsPerTurn
    return this.#calls === 0
  }

  next(): Promise<void> {
    return new Promise((resolve) => this.#clock.soon(resolve))
  }
}
