// Jobs per second, from one look to the next: counted from the events of all processes if the storage has them, else from the
// numbers of ended jobs. Those fall when records expire, which counts as nothing.

import type { EventCounters } from '../../admin/counters.ts'
import type { TypeSummary } from '../../engine/operate/type-summary.ts'

export interface Rates {
  /** Per second, newest last. */
  readonly completed: readonly number[]
  readonly failed: readonly number[]
}

interface Sight {
  readonly completed: number
  readonly failed: number
  /** Local, monotonic ms. */
  readonly at: number
}

/** Values that are kept. */
const kept = 120

export class RateMeter {
  #before: Sight | undefined
  #rates: Rates = { completed: [], failed: [] }

  get rates(): Rates {
    return this.#rates
  }

  /** @param at local, monotonic ms */
  look(types: readonly TypeSummary[], counters: EventCounters | undefined, at: number): void {
    const isFleet = counters?.scope === 'fleet'
    const sum = (state: 'completed' | 'failed'): number =>
      isFleet ? (counters.events[state] ?? 0) : types.reduce((total, { states }) => total + states[state], 0)
    const now: Sight = { completed: sum('completed'), failed: sum('failed'), at }
    const before = this.#before
    this.#before = now
    if (!before || at <= before.at) return
    const next = (key: 'completed' | 'failed'): number[] => {
      const perSecond = (1_000 * Math.max(0, now[key] - before[key])) / (at - before.at)
      return [...this.#rates[key], perSecond].slice(-kept)
    }
    this.#rates = { completed: next('completed'), failed: next('failed') }
  }
}
