// S17: no more attempts of a life count than allowed, lost leases included.

import type { Invariant } from '../history/entries.ts'
import { keyOf, perJob, violation } from '../history/jobs.ts'

export const attemptsAreBounded: Invariant = {
  name: 'S17',
  title: 'attempts are bounded',
  check: (history) =>
    perJob(history, (entries) => {
      let [count, max] = [0, Infinity]
      for (const [index, entry] of entries.entries()) {
        if (entry.what === 'added') {
          count = 0
          max = entry.maxAttempts ?? history.types.get(entry.type)?.maxAttempts ?? Infinity
        }
        if (entry.what === 'revived') count = 0
        if (entry.what === 'settled' && (entry.outcome === 'retry' || entry.outcome === 'failed')) count++
        // A lease ahead of a free slot may not have been started: its loss may cost nothing.
        if (entry.what === 'recovered' && !entry.ahead) count++
        if (entry.what === 'claimed' && count >= max) {
          const sentence = `${keyOf(entry)} was claimed after ${count} of ${max} attempts`
          return violation('S17', sentence, entries.slice(0, index + 1))
        }
      }
      return undefined
    }),
}
