// S1: an acknowledged add is in the storage, and a live job never disappears.

import { isTerminal } from '../history/states.ts'
import type { EntryOf, Invariant, Violation } from '../history/entries.ts'
import { jobsOf, keyOf, perJob, violation } from '../history/jobs.ts'

export const noJobLost: Invariant = {
  name: 'S1',
  title: 'no job is lost',
  check(history) {
    const asked = new Map<number, EntryOf<'asked'>>()
    const found: Violation[] = []
    for (const entry of history.entries) {
      if (entry.what === 'asked') asked.set(entry.call, entry)
      if (entry.what !== 'acked' || entry.status !== 'queued') continue
      const since = asked.get(entry.call)!
      const changes = jobsOf(history).get(keyOf(entry)) ?? []
      const isThere = changes.some(({ what, t }) => what === 'added' && t >= since.t && t <= entry.t)
      if (!isThere) found.push(violation('S1', `${keyOf(entry)} was acknowledged and never added`, [since, entry]))
    }
    const vanished = perJob(history, (entries) => {
      const bad = entries.find((entry) => entry.what === 'gone' && !mayGo(entry))
      return (
        bad && violation('S1', `${keyOf(bad)} disappeared in a ${bad.verb}`, entries.slice(0, entries.indexOf(bad) + 1))
      )
    })
    return [...found, ...vanished]
  },
}

function mayGo({ state, expiresAt, at, verb }: EntryOf<'gone'>): boolean {
  if (!isTerminal(state)) return false
  return verb === 'remove' || (expiresAt !== undefined && expiresAt <= at)
}
