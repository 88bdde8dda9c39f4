// S2: what runs was added, with the payload that was added.

import type { Invariant, Violation } from '../history/entries.ts'
import { isJobEntry, keyOf, perJob, violation } from '../history/jobs.ts'

export const nothingAltered: Invariant = {
  name: 'S2',
  title: 'nothing is invented or altered',
  check(history) {
    const unknown = perJob(history, (entries) => {
      let token: string | undefined
      for (const [index, entry] of entries.entries()) {
        if (entry.what === 'added') token = entry.token
        if (entry.what === 'claimed' && entry.token !== token) {
          return violation('S2', `${keyOf(entry)} was claimed and never added`, entries.slice(0, index + 1))
        }
        if (entry.what !== 'payload' || entry.verb === 'add' || entry.verb === 'revive') continue
        const isReleased = entries.some(
          (other) => other.what === 'settled' && other.move === entry.move && other.outcome === 'released',
        )
        if (!isReleased) {
          return violation(
            'S2',
            `${keyOf(entry)} has another payload after a ${entry.verb}`,
            entries.slice(0, index + 1),
          )
        }
      }
      return undefined
    })
    return [...unknown, ...runsOf(history.entries)]
  },
}

/** The handler saw the payload that the job had when it was claimed. */
function runsOf(entries: Parameters<Invariant['check']>[0]['entries']): Violation[] {
  const hashes = new Map<string, string>()
  const claimed = new Map<string, string>()
  const found: Violation[] = []
  for (const entry of entries) {
    if (isJobEntry(entry)) {
      if (entry.what === 'added' || entry.what === 'payload') hashes.set(keyOf(entry), entry.hash)
      if (entry.what === 'claimed') claimed.set(`${keyOf(entry)} ${entry.fence}`, hashes.get(keyOf(entry)) ?? '')
    } else if (entry.what === 'began') {
      const hash = claimed.get(`${keyOf(entry)} ${entry.fence}`)
      if (hash === undefined) found.push(violation('S2', `${keyOf(entry)} ran without a claim`, [entry]))
      else if (hash !== entry.hash) found.push(violation('S2', `${keyOf(entry)} ran with another payload`, [entry]))
    }
  }
  return found
}
