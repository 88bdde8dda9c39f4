// S10: an outcome that arrives while its attempt holds the job is accepted, whether or not the lease has ended.

import type { Invariant, Violation } from '../history/entries.ts'
import { endsLease, isJobEntry, keyOf, violation } from '../history/jobs.ts'

export const lateHolderAccepted: Invariant = {
  name: 'S10',
  title: 'a late sole holder is accepted',
  check(history) {
    const held = new Map<string, string>()
    /** Leases that were taken back, with the call that did it: a claim settles its outcomes first. */
    const recovered = new Map<string, number>()
    const found: Violation[] = []
    for (const entry of history.entries) {
      if (isJobEntry(entry)) {
        const key = keyOf(entry)
        if (entry.what === 'recovered') recovered.set(`${key} ${entry.fence}`, entry.move)
        if (endsLease(entry) || entry.what === 'gone') held.delete(key)
        if (entry.what === 'claimed') held.set(key, entry.fence)
      } else if (entry.what === 'settleVerdict' || entry.what === 'extendVerdict') {
        const key = keyOf(entry)
        const isRefused = !['settled', 'conflict', 'extended', 'cancelling', 'busy'].includes(entry.verdict)
        const wasHeld = held.get(key) === entry.fence || recovered.get(`${key} ${entry.fence}`) === entry.move
        if (isRefused && wasHeld) {
          found.push(violation('S10', `${key}: its holder ${entry.fence} was told ${entry.verdict}`, [entry]))
        }
      }
    }
    return found
  },
}
