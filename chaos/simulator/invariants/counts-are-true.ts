// S19: at rest, the counts of the storage are the numbers of its records, and none is below 0.

import type { Invariant } from '../history/entries.ts'
import { violation } from '../history/jobs.ts'

export const countsAreTrue: Invariant = {
  name: 'S19',
  title: 'counts are true',
  check: ({ entries }) =>
    entries.flatMap((entry) => {
      if (entry.what !== 'counted') return []
      const states = new Set([...Object.keys(entry.counts), ...Object.keys(entry.records)])
      return [...states].flatMap((state) => {
        const [count = 0, records = 0] = [entry.counts[state], entry.records[state]]
        if (count === records) return []
        return [violation('S19', `${entry.type}: ${records} records are ${state}, counted are ${count}`, [entry])]
      })
    }),
}
