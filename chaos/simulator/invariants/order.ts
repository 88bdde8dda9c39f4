// S15: an ordered group runs one job at a time, in the order of acceptance. In a plain type, no job is claimed before one of a
// higher priority, or of the same priority and an earlier time, that was due.

import type { History, Invariant, Violation } from '../history/entries.ts'
import { isJobEntry, keyOf, violation } from '../history/jobs.ts'
import { callsOf, type TrackedJob, TrackedJobs } from './waiting-jobs.ts'

export const order: Invariant = {
  name: 'S15',
  title: 'order where it is promised',
  check(history) {
    const found: Violation[] = []
    const tracked = new TrackedJobs()
    for (const call of callsOf(history.entries.filter(isJobEntry))) {
      for (const entry of call) {
        const job = tracked.apply(entry)
        if (entry.what !== 'claimed' || !job?.added.ordered) continue
        const before = [...tracked.jobs.values()].find((other) => isAhead(other, job))
        if (before) {
          found.push(
            violation('S15', `${keyOf(entry)} was claimed before ${keyOf(before.added)} of its group`, [
              before.added,
              entry,
            ]),
          )
        }
      }
      found.push(...overtaken(history, tracked, call))
    }
    return found
  },
}

/** Whether an unfinished job of the same ordered group comes first, or is held. */
function isAhead(other: TrackedJob, job: TrackedJob): boolean {
  if (other === job || other.state === 'ended') return false
  if (other.added.type !== job.added.type || other.added.group !== job.added.group || !other.added.ordered) return false
  return other.state === 'held' || other.accepted < job.accepted
}

function overtaken(
  { types }: History,
  { jobs }: TrackedJobs,
  call: readonly Parameters<TrackedJobs['apply']>[0][],
): Violation[] {
  const found: Violation[] = []
  for (const entry of call) {
    if (entry.what !== 'claimed' || entry.ahead || !types.get(entry.type)?.plain) continue
    const { added, runAt } = jobs.get(keyOf(entry))!
    for (const other of jobs.values()) {
      if (other.state !== 'waiting' || other.added.type !== entry.type || other.runAt > entry.at) continue
      const { priority } = other.added
      if (priority > added.priority || (priority === added.priority && other.runAt < runAt)) {
        found.push(violation('S15', `${keyOf(entry)} overtook ${keyOf(other.added)}`, [other.added, added, entry]))
        return found
      }
    }
  }
  return found
}
