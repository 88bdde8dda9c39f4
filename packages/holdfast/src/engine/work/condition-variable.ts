// Waiting for a condition over state that several parts change. Each part notifies after a change, and the waiter checks again.

import type { Clock } from '../../clock.ts'

export class ConditionVariable {
  readonly #clock: Clock
  #check: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Must be called after each change that a condition may depend on. */
  notify(): void {
    this.#check?.()
  }

  /** Resolves once the condition holds, or after `ms`. One wait at a time. */
  async wait(ms: number, holds: () => boolean): Promise<void> {
    if (holds()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = this.#clock.after(ms, resolve)
    this.#check = () => {
      if (holds()) resolve()
    }
    await promise
    this.#check = undefined
    timer.cancel()
  }
}
