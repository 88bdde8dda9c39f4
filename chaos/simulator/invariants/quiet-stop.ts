// S26: after stop() has resolved there is no call and no timer of that process.

import type { Invariant } from '../history/entries.ts'
import { violation } from '../history/jobs.ts'

export const quietStop: Invariant = {
  name: 'S26',
  title: 'a stop is quiet',
  check: ({ entries }) =>
    entries.flatMap((entry) =>
      entry.what === 'afterStop' ? [violation('S26', `${entry.node}: ${entry.verb} after its stop`, [entry])] : [],
    ),
}
