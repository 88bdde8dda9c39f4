// S7: an attempt is settled once, a life ends once, and the worker is told what happened; a repeat as the first call.

import { isTerminal } from '../history/states.ts'
import type { EntryOf, Invariant, Violation } from '../history/entries.ts'
import { endsLease, isJobEntry, keyOf, perJob, violation } from '../history/jobs.ts'

/** A record keeps so many ended attempts: the repeat of an older one is not recognised. */
const attemptsKept = 10

export const verdictsAreTrue: Invariant = {
  name: 'S7',
  title: 'verdicts are true',
  check(history) {
    const once = perJob(history, (entries) => {
      const settled = new Set<string>()
      let ended = false
      for (const [index, entry] of entries.entries()) {
        const shown = (): typeof entries => entries.slice(0, index + 1)
        if (entry.what === 'added' || entry.what === 'revived') ended = false
        if (entry.what === 'settled') {
          if (settled.has(entry.fence)) return violation('S7', `${keyOf(entry)}: ${entry.fence} settled twice`, shown())
          settled.add(entry.fence)
        }
        const isEnd = entry.what === 'ended' || ('state' in entry && entry.what !== 'gone' && isTerminal(entry.state))
        if (!isEnd) continue
        if (ended) return violation('S7', `${keyOf(entry)} ended twice`, shown())
        ended = true
      }
      return undefined
    })
    return [...once, ...told(history.entries)]
  },
}

function told(entries: Parameters<Invariant['check']>[0]['entries']): Violation[] {
  const settled = new Map<string, EntryOf<'settled'>>()
  /** Ended attempts since, by job and fence; absent once the record is gone. */
  const since = new Map<string, Map<string, number>>()
  /** The lease of each job: its fence and end. */
  const leases = new Map<string, EntryOf<'claimed' | 'extended'>>()
  const found: Violation[] = []
  for (const entry of entries) {
    if (isJobEntry(entry)) {
      const key = keyOf(entry)
      if (entry.what === 'claimed' || entry.what === 'extended') leases.set(key, entry)
      else if (endsLease(entry) || entry.what === 'gone') leases.delete(key)
      if (entry.what === 'added' || entry.what === 'gone') since.delete(key)
      if (endsLease(entry)) for (const [fence, count] of since.get(key) ?? []) since.get(key)!.set(fence, count + 1)
      if (entry.what === 'settled') {
        settled.set(`${key} ${entry.fence}`, entry)
        since.set(key, (since.get(key) ?? new Map<string, number>()).set(entry.fence, 0))
      }
    } else if (entry.what === 'extendVerdict' && entry.until !== undefined) {
      const lease = leases.get(keyOf(entry))
      if (lease?.fence === entry.fence && lease.until === entry.until) continue
      found.push(violation('S7', `${keyOf(entry)}: ${entry.fence} was told ${entry.verdict} and is not`, [entry]))
    } else if (entry.what === 'settleVerdict') {
      const key = keyOf(entry)
      const first = settled.get(`${key} ${entry.fence}`)
      const age = since.get(key)?.get(entry.fence)
      if (entry.verdict === 'settled' && !first) {
        found.push(violation('S7', `${key}: ${entry.fence} was told settled and is not`, [entry]))
      } else if (entry.verdict === 'settled' && entry.state !== first!.state) {
        found.push(violation('S7', `${key}: told ${entry.state}, was ${first!.state}`, [first!, entry]))
      } else if (entry.verdict !== 'settled' && age !== undefined && age < attemptsKept) {
        found.push(violation('S7', `${key}: ${entry.fence} is settled and was told ${entry.verdict}`, [first!, entry]))
      }
    }
  }
  return found
}
