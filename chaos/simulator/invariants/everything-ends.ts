// L1: once the faults have ceased, every job ends.

import type { Invariant, Violation } from '../history/entries.ts'
import { endsLife, jobsOf, violation } from '../history/jobs.ts'

export const everythingEnds: Invariant = {
  name: 'L1',
  title: 'everything ends',
  check(history) {
    const gaveUp = history.entries.find(({ what }) => what === 'gaveUp')
    if (!gaveUp) return []
    const found: Violation[] = []
    for (const [key, entries] of jobsOf(history)) {
      const seen = entries.filter(({ t }) => t <= gaveUp.t)
      const last = seen.findLast((entry) => endsLife(entry) || entry.what === 'added' || entry.what === 'revived')
      if (last && !endsLife(last)) found.push(violation('L1', `${key} never ended`, seen))
    }
    return found.length > 0 ? found : [violation('L1', 'the run never came to rest', [gaveUp])]
  },
}
