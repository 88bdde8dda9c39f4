// S5: no two claims of a job have one fence, and within a life the number of the attempt grows.

import type { Invariant, Violation } from '../history/entries.ts'
import { keyOf, perJob, violation } from '../history/jobs.ts'

export const fencesNeverRepeat: Invariant = {
  name: 'S5',
  title: 'fences never repeat',
  check(history) {
    const logged = perJob(history, (entries) => {
      const fences = new Set<string>()
      let last = 0
      for (const [index, entry] of entries.entries()) {
        if (entry.what === 'added') last = 0
        if (entry.what !== 'claimed') continue
        const shown = entries.slice(0, index + 1)
        if (fences.has(entry.fence)) return violation('S5', `${keyOf(entry)}: fence ${entry.fence} twice`, shown)
        if (entry.attempt <= last)
          return violation('S5', `${keyOf(entry)}: attempt ${entry.attempt} after ${last}`, shown)
        fences.add(entry.fence)
        last = entry.attempt
      }
      return undefined
    })
    const answered = new Set<string>()
    const twice: Violation[] = []
    for (const entry of history.entries) {
      if (entry.what !== 'claimVerdict') continue
      for (const fence of entry.fences) {
        if (answered.has(fence)) twice.push(violation('S5', `${fence} was given to two claims`, [entry]))
        answered.add(fence)
      }
    }
    return [...logged, ...twice]
  },
}
