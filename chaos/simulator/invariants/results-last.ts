// S12: a read between the end of a job and its expiry gives its result, and a later one gives none.

import type { EntryOf, Invariant, Violation } from '../history/entries.ts'
import { isJobEntry, keyOf, violation } from '../history/jobs.ts'

interface Kept {
  readonly end: EntryOf<'settled'>
  expiresAt: number | undefined
}

export const resultsLast: Invariant = {
  name: 'S12',
  title: 'results last as told',
  check(history) {
    const kept = new Map<string, Kept>()
    const found: Violation[] = []
    for (const entry of history.entries) {
      if (isJobEntry(entry)) {
        const key = keyOf(entry)
        const isRemoved = entry.what === 'gone' && entry.verb === 'remove'
        if (entry.what === 'added' || entry.what === 'revived' || isRemoved) kept.delete(key)
        if (entry.what === 'settled' && entry.outcome === 'completed')
          kept.set(key, { end: entry, expiresAt: entry.expiresAt })
        if (entry.what === 'expiry' && kept.has(key)) kept.get(key)!.expiresAt = entry.expiresAt
      } else if (entry.what === 'read' && entry.hasResult) {
        const key = keyOf(entry)
        const { end, expiresAt = Infinity } = kept.get(key) ?? {}
        if (!end) continue
        const isOver = expiresAt <= entry.at
        if (isOver && entry.token === end.token) {
          found.push(violation('S12', `${key} was read after its expiry`, [end, entry]))
        } else if (!isOver && (entry.token !== end.token || entry.result !== end.result)) {
          found.push(violation('S12', `${key}: result ${end.result} was read as ${entry.result}`, [end, entry]))
        }
      }
    }
    return found
  },
}
