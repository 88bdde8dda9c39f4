// S20: after the retention of all jobs and a sweep, nothing of them is left in the storage.

import type { Invariant } from '../history/entries.ts'
import { violation } from '../history/jobs.ts'

export const nothingLeft: Invariant = {
  name: 'S20',
  title: 'nothing is left',
  check: ({ entries }) =>
    entries.flatMap((entry) => {
      if (entry.what !== 'left' || entry.jobs + entry.keys === 0) return []
      return [violation('S20', `left after retention and a sweep: ${entry.jobs} records, ${entry.keys} keys`, [entry])]
    }),
}
