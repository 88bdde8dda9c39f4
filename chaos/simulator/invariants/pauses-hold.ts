// S22: nothing of a paused type or group is claimed.

import type { Invariant, Violation } from '../history/entries.ts'
import { isJobEntry, keyOf, violation } from '../history/jobs.ts'

export const pausesHold: Invariant = {
  name: 'S22',
  title: 'pauses hold',
  check({ entries }) {
    const paused = new Set<string>()
    const groups = new Map<string, string | undefined>()
    const found: Violation[] = []
    for (const entry of entries) {
      if (entry.what === 'paused') paused.add(`${entry.type} ${entry.group ?? ''}`)
      if (entry.what === 'resumed') paused.delete(`${entry.type} ${entry.group ?? ''}`)
      if (!isJobEntry(entry)) continue
      if (entry.what === 'added') groups.set(keyOf(entry), entry.group)
      if (entry.what !== 'claimed') continue
      const group = groups.get(keyOf(entry))
      const isPaused = paused.has(`${entry.type} `) || (group !== undefined && paused.has(`${entry.type} ${group}`))
      if (isPaused) found.push(violation('S22', `${keyOf(entry)} was claimed while it was paused`, [entry]))
    }
    return found
  },
}
