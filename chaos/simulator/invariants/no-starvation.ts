// L6: of n groups that have a job to claim, each starts one within the next n starts.

import type { Invariant, Violation } from '../history/entries.ts'
import { isJobEntry, keyOf, violation } from '../history/jobs.ts'
import { type TrackedJob, TrackedJobs } from './waiting-jobs.ts'

export const noStarvation: Invariant = {
  name: 'L6',
  title: 'no group starves',
  check(history) {
    const found: Violation[] = []
    const tracked = new TrackedJobs()
    /** By type and group: starts of others since its last start, and the most groups that had a job meanwhile. */
    const waits = new Map<string, { starts: number; groups: number }>()
    const paused = new Set<string>()
    for (const entry of history.entries) {
      if (entry.what === 'paused') paused.add(`${entry.type} ${entry.group}`)
      if (entry.what === 'resumed') paused.delete(`${entry.type} ${entry.group}`)
      if (isJobEntry(entry)) {
        const job = tracked.apply(entry)
        // A group whose last job was cancelled begins to wait anew with its next one.
        if (job && job.state === 'ended' && !hasWaiting(tracked, job)) waits.delete(`${entry.type} ${job.added.group}`)
        if (entry.what !== 'claimed' || !job || !history.types.get(entry.type)?.fair) continue
        waits.delete(`${entry.type} ${job.added.group}`)
        const claimable = new Set<string>()
        for (const other of tracked.jobs.values()) {
          const isDue = other.state === 'waiting' && other.added.type === entry.type && other.runAt <= entry.at
          const key = `${entry.type} ${other.added.group}`
          if (isDue && !paused.has(key)) claimable.add(key)
        }
        for (const key of waits.keys()) if (key.startsWith(`${entry.type} `) && !claimable.has(key)) waits.delete(key)
        for (const key of claimable) {
          if (key === `${entry.type} ${job.added.group}`) continue
          const wait = waits.get(key) ?? { starts: 0, groups: 0 }
          wait.starts++
          wait.groups = Math.max(wait.groups, claimable.size + 1)
          waits.set(key, wait)
          if (wait.starts === wait.groups + 1) {
            found.push(
              violation('L6', `${key} waits while ${wait.starts} jobs of others start (${keyOf(entry)})`, [entry]),
            )
          }
        }
      }
    }
    return found
  },
}

const hasWaiting = ({ jobs }: TrackedJobs, { added: { type, group } }: TrackedJob): boolean =>
  [...jobs.values()].some(({ state, added }) => state === 'waiting' && added.type === type && added.group === group)
