// How many transactions of attempts may be open at once, for all workers of a process on one storage: as many as leave the
// storage room for other calls. Further attempts wait in order, and keep their lease meanwhile.

import type { GuardedStorage } from '../../engine/guard.ts'

export class TransactionSlots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /** Resolves once a slot is free. @param over ends the wait by its rejection */
  async take(over: Promise<never>): Promise<void> {
    if (this.#free > 0) return void this.#free--
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    try {
      await Promise.race([promise, over])
    } catch (error) {
      const index = this.#waiting.indexOf(resolve)
      // The slot was given in the same moment: it goes on to the next.
      if (index === -1) this.release()
      else this.#waiting.splice(index, 1)
      throw error
    }
  }

  release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free++
  }
}

const slotsOf = new WeakMap<object, TransactionSlots>()

/** @param raw the storage as the user gave it, which all guards and workers of the process share */
export function transactionSlots(raw: { readonly settings: GuardedStorage['settings'] }): TransactionSlots {
  let slots = slotsOf.get(raw)
  if (!slots) slotsOf.set(raw, (slots = new TransactionSlots(raw.settings.openTransactions ?? 1)))
  return slots
}
