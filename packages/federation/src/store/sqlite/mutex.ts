// A mutex: one transaction at a time on a connection, in the order of the calls.
// Invariant: a call that was rejected for its waiting time never runs.

import { type Clock, StorageError } from 'holdfast'
import { type Timer } from 'holdfast/storage'

interface Waiter {
  start(): void
  readonly timer: Timer
}

export class Mutex {
  readonly #clock: Clock
  readonly #waitMs: number
  #isLocked = false
  readonly #waiters: Waiter[] = []
  readonly #onIdle: (() => void)[] = []

  /** @param waitMs longest time that a call waits for the lock */
  constructor(clock: Clock, waitMs: number) {
    this.#clock = clock
    this.#waitMs = waitMs
  }

  /** Runs the function while it holds the lock. @throws StorageError after `waitMs` without the lock */
  async run<T>(run: () => Promise<T>): Promise<T> {
    await this.#lock()
    try {
      return await run()
    } finally {
      this.#unlock()
    }
  }

  /** Resolves when the lock is free. */
  idle(): Promise<void> {
    return this.#isLocked ? new Promise((resolve) => void this.#onIdle.push(resolve)) : Promise.resolve()
  }

  #lock(): Promise<void> {
    if (!this.#isLocked) {
      this.#isLocked = true
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(this.#waitMs, () => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
        reject(waitedTooLong(this.#waitMs))
      })
      const waiter = { start: resolve, timer }
      this.#waiters.push(waiter)
    })
  }

  #unlock(): void {
    const next = this.#waiters.shift()
    if (next) {
      next.timer.cancel()
      return next.start()
    }
    this.#isLocked = false
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }
}

const waitedTooLong = (waitMs: number): StorageError =>
  new StorageError(
    `SQLite: the call waited ${waitMs} ms for another transaction of this store. It was not run. Inside of transaction(), pass tx to every call.`,
    { maybeApplied: false },
  )
