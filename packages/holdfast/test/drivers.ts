// The drivers that the conformance suite is run on. A new one is a line in the table.

import { type Clock, systemClock } from '../src/clock.ts'
import type { Subject } from '../src/conformance/index.ts'
import { MemoryStorage } from '../src/storage/memory/memory-storage.ts'

export const drivers: Readonly<Record<string, () => Subject | Promise<Subject>>> = {
  memory: () => withManualClock((clock) => new MemoryStorage({ clock })),
}

/** A storage whose time stands until it is told to go on. It sets no timers, so the clock needs none. */
export function withManualClock(
  open: (clock: Clock) => Subject['storage'],
): Subject & Required<Pick<Subject, 'advance'>> {
  let now = 1_767_225_600_000
  return {
    storage: open({ ...systemClock, now: () => now }),
    advance: async (ms) => {
      now += ms
    },
  }
}
