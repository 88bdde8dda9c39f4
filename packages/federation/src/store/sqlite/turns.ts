// One transaction at a time on a connection of our own. Who waits longer than a call may take is told, and never runs.

import { type Clock, StorageError, type Timer } from 'holdfast'

interface Waiter {
  start(): void
  readonly timer: Timer
}

export class Turns {
  readonly #clock: Clock
  readonly #patienceMs: number
  #isTaken = false
  readonly #waiting: Waiter[] = []
  #idle: (() => void)[] = []

  constructor(clock: Clock, patienceMs: number) {
    this.#clock = clock
    this.#patienceMs = patienceMs
  }

  async take<T>(run: () => Promise<T>): Promise<T> {
    await this.#wait()
    try {
      return await run()
    } finally {
      const next = this.#waiting.shift()
      next?.timer.cancel()
      if (next) next.start()
      else {
        this.#isTaken = false
        for (const tell of this.#idle.splice(0)) tell()
      }
    }
  }

  idle(): Promise<void> {
    return this.#isTaken ? new Promise((resolve) => void this.#idle.push(resolve)) : Promise.resolve()
  }

  #wait(): Promise<void> {
    if (!this.#isTaken) {
      this.#isTaken = true
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(this.#patienceMs, () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        reject(heldUp())
      })
      const waiter = { start: resolve, timer }
      this.#waiting.push(waiter)
    })
  }
}

const heldUp = (): StorageError =>
  new StorageError(
    'the call waited too long for a transaction of this store to end. Inside of transaction(), pass `tx` on to every verb',
    { maybeApplied: false },
  )
