// S16: no limit of a type or group is exceeded, no rate either, and a claim yields no more than was asked.

import type { EntryOf, Invariant, TypeFacts, Violation } from '../history/entries.ts'
import { isJobEntry, keyOf, violation } from '../history/jobs.ts'
import { type TrackedJob, TrackedJobs } from './waiting-jobs.ts'

export const limits: Invariant = {
  name: 'S16',
  title: 'limits hold',
  check(history) {
    const found: Violation[] = []
    const tracked = new TrackedJobs()
    /** Starts by type, for the rates. */
    let starts = new Map<string, { readonly at: number; readonly weight: number }[]>()
    for (const entry of history.entries) {
      // A clock that was set back makes two instants of one: rates are counted anew.
      if (entry.what === 'clockSet') starts = new Map()
      if (entry.what === 'claimVerdict' && entry.fences.length > entry.slots) {
        found.push(violation('S16', `a claim of ${entry.slots} jobs got ${entry.fences.length}`, [entry]))
      }
      if (!isJobEntry(entry)) continue
      const job = tracked.apply(entry)
      const facts = history.types.get(entry.type)
      if (entry.what !== 'claimed' || !job || !facts) continue
      const exceeded = exceededLimit(tracked, job, facts, entry)
      if (exceeded) found.push(violation('S16', `${keyOf(entry)}: ${exceeded}`, [entry]))
      if (!facts.rate) continue
      const { limit, perMs } = facts.rate
      const recent = (starts.get(entry.type) ?? []).filter(({ at }) => at > entry.at - perMs)
      recent.push({ at: entry.at, weight: job.added.weight })
      starts.set(entry.type, recent)
      const weight = recent.reduce((sum, one) => sum + one.weight, 0)
      if (weight > limit)
        found.push(violation('S16', `${entry.type}: ${weight} started in ${perMs} ms, allowed are ${limit}`, [entry]))
    }
    return found
  },
}

function exceededLimit(
  { jobs }: TrackedJobs,
  { added: { type, group } }: TrackedJob,
  { concurrency = Infinity, groupLimit = Infinity }: TypeFacts,
  { at }: EntryOf<'claimed'>,
): string | undefined {
  if (concurrency === Infinity && groupLimit === Infinity) return undefined
  const held = [...jobs.values()].filter((job) => job.state === 'held' && job.until > at && job.added.type === type)
  const inGroup = held.filter((job) => group !== undefined && job.added.group === group)
  if (held.length > concurrency) return `${held.length} run, allowed are ${concurrency}`
  if (inGroup.length > groupLimit) return `${inGroup.length} of group ${group} run, allowed are ${groupLimit}`
  return undefined
}
