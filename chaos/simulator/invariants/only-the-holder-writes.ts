// S6: a lease is extended, settled and reported on by its holder alone.

import type { Invariant } from '../history/entries.ts'
import { endsLease, keyOf, perJob, violation } from '../history/jobs.ts'

export const onlyTheHolderWrites: Invariant = {
  name: 'S6',
  title: 'only the holder writes',
  check: (history) =>
    perJob(history, (entries) => {
      let held: string | undefined
      for (const [index, entry] of entries.entries()) {
        const shown = (): typeof entries => entries.slice(0, index + 1)
        if (entry.what === 'claimed') held = entry.fence
        if (entry.what === 'vanished')
          return violation('S6', `${keyOf(entry)} lost its lease without a reason`, shown())
        if (entry.what === 'extended' || entry.what === 'settled') {
          if (entry.fence !== held || !entry.writers.includes(entry.fence)) {
            const by = entry.writers.join(', ') || 'a call that names no fence'
            return violation('S6', `${keyOf(entry)}: held by ${held ?? 'none'}, ${entry.what} by ${by}`, shown())
          }
        }
        if (entry.what === 'reported') {
          const isOwn = entry.fence !== undefined && entry.writers.includes(entry.fence)
          if (!isOwn) return violation('S6', `${keyOf(entry)}: a report of a worker that does not hold it`, shown())
        }
        if (endsLease(entry) || entry.what === 'gone') held = undefined
      }
      return undefined
    }),
}
