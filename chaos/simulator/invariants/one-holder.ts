// S4: a job has one holder at a time, and is taken from it only when the lease is over, or the age of the call has passed.

import type { Invariant } from '../history/entries.ts'
import { endsLease, keyOf, perJob, violation } from '../history/jobs.ts'

export const oneHolder: Invariant = {
  name: 'S4',
  title: 'one holder',
  check: (history) =>
    perJob(history, (entries) => {
      let until: number | undefined
      for (const [index, entry] of entries.entries()) {
        const shown = (): typeof entries => entries.slice(0, index + 1)
        if (entry.what === 'claimed') {
          if (until !== undefined) return violation('S4', `${keyOf(entry)} was claimed while it was held`, shown())
          until = entry.until
        } else if (entry.what === 'extended') {
          until = entry.until
        } else if (entry.what === 'recovered') {
          const { olderThanMs = Infinity, startedAt, at } = entry
          if (at < (until ?? entry.until) && at - startedAt <= olderThanMs) {
            return violation('S4', `${keyOf(entry)} was taken back before the end of its lease`, shown())
          }
        }
        if (endsLease(entry) || entry.what === 'gone') until = undefined
      }
      return undefined
    }),
}
