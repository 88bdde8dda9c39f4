// S8: after its end a job only expires, is deleted, replaced or revived.

import type { Invariant } from '../history/entries.ts'
import { endsLife, keyOf, perJob, violation } from '../history/jobs.ts'

const allowed: readonly string[] = ['gone', 'revived', 'expiry', 'added']

export const terminalIsFinal: Invariant = {
  name: 'S8',
  title: 'terminal is final',
  check: (history) =>
    perJob(history, (entries) => {
      let ended = false
      for (const [index, entry] of entries.entries()) {
        if (ended && !allowed.includes(entry.what)) {
          return violation('S8', `${keyOf(entry)} was ${entry.what} after its end`, entries.slice(0, index + 1))
        }
        if (entry.what === 'revived' && entry.verb !== 'revive') {
          return violation('S8', `${keyOf(entry)} came back by a ${entry.verb}`, entries.slice(0, index + 1))
        }
        if (entry.what === 'added' || entry.what === 'revived') ended = false
        if (endsLife(entry)) ended = true
      }
      return undefined
    }),
}
