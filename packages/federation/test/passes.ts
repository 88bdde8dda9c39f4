// The passes of an event loop, one by one.

import type { Clock } from 'holdfast'
import { systemClock } from 'holdfast/storage'

/** A clock whose passes of the event loop the test makes itself. */
export function passes(): { readonly clock: Clock; readonly waiting: number; next(): Promise<void> } {
  const calls: (() => void)[] = []
  return {
    clock: { ...systemClock, soon: (callback) => void calls.push(callback) },
    get waiting() {
      return calls.length
    },
    next: async () => {
      for (const call of calls.splice(0)) call()
      // The work that the turns began.
      for (let hop = 0; hop < 10; hop++) await undefined
    },
  }
}
