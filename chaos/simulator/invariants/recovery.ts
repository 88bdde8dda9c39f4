// L2: once the faults have ceased, a lost lease is taken back within the longest run of a handler that fills a slot, and the slack.

import { lastResumeOf } from '../history/pauses.ts'
import type { EntryOf, Invariant, Violation } from '../history/entries.ts'
import { endsLease, jobsOf, violation } from '../history/jobs.ts'

/** Leases that a handler may run which ignores that it should end. */
const busyLeases = 4

export const recovery: Invariant = {
  name: 'L2',
  title: 'lost leases are taken back',
  check(history) {
    const healed = history.entries.find(({ what }) => what === 'healed')
    if (!healed) return []
    const over = history.entries.find(({ what }) => what === 'rested' || what === 'gaveUp')?.t ?? Infinity
    const found: Violation[] = []
    const sets = history.entries.filter((entry) => entry.what === 'clockSet')
    /** By how much a lease lasts longer, because the clock was set back. */
    const setBackMs = (t: number): number =>
      sets.reduce((sum, set) => (set.t >= t ? sum + Math.max(0, -set.byMs) : sum), 0)
    for (const [key, entries] of jobsOf(history)) {
      let lease: EntryOf<'claimed' | 'extended'> | undefined
      const check = (t: number): void => {
        if (!lease) return
        const lost = Math.max(
          lease.t + lease.until - lease.at + setBackMs(lease.t),
          healed.t,
          lastResumeOf(history, lease.type),
        )
        const lateMs = t - lost - busyLeases * (history.types.get(lease.type)?.leaseMs ?? 0) - history.returnMs
        if (lateMs > 0) found.push(violation('L2', `${key}: its lost lease was not taken back in time`, entries))
      }
      for (const entry of entries) {
        if (entry.what !== 'claimed' && entry.what !== 'extended' && !endsLease(entry) && entry.what !== 'gone')
          continue
        check(entry.t)
        lease = entry.what === 'claimed' || entry.what === 'extended' ? entry : undefined
      }
      if (over !== Infinity) check(over)
    }
    return found
  },
}
