// S17: no more attempts of a life count than allowed, lost leases included. After them the job is not claimed; or, where its worker
// decides, not run.

import type { History, Invariant } from '../history/entries.ts'
import { keyOf, perJob, violation } from '../history/jobs.ts'

export const attemptsAreBounded: Invariant = {
  name: 'S17',
  title: 'attempts are bounded',
  check(history) {
    const begun = runsOf(history)
    return perJob(history, (entries) => {
      let [count, max] = [0, Infinity]
      for (const [index, entry] of entries.entries()) {
        const facts = history.types.get(entry.type)
        if (entry.what === 'added') {
          count = 0
          max = entry.maxAttempts ?? facts?.maxAttempts ?? Infinity
        }
        if (entry.what === 'revived') count = 0
        if (entry.what === 'settled' && (entry.outcome === 'retry' || entry.outcome === 'failed')) count++
        // A lease ahead of a free slot may not have been started: its loss may cost nothing.
        if (entry.what === 'recovered' && !entry.ahead) count++
        if (entry.what !== 'claimed' || count < max) continue
        if (facts?.endedByWorker && !begun.has(`${keyOf(entry)} ${entry.fence}`)) continue
        const sentence = `${keyOf(entry)} was ${facts?.endedByWorker ? 'run' : 'claimed'} after ${count} of ${max} attempts`
        return violation('S17', sentence, entries.slice(0, index + 1))
      }
      return undefined
    })
  },
}

/** The attempts whose handlers began, by job and fence. */
function runsOf({ entries }: History): ReadonlySet<string> {
  const begun = new Set<string>()
  for (const entry of entries) if (entry.what === 'began') begun.add(`${keyOf(entry)} ${entry.fence}`)
  return begun
}
