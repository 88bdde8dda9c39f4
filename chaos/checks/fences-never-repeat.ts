// No two runs share a fence, and within a life no two share an attempt's number, unless a failover forgot a claim. (S5)

import { attemptOf } from '../entries.ts'
import { type JobHistory, knownRuns, timesAsked, type Violation, violation } from '../history.ts'

export function fencesNeverRepeat(job: JobHistory): Violation[] {
  const fences = job.entries.flatMap((entry) => (entry.what === 'started' ? [entry.fence] : []))
  if (new Set(fences).size < fences.length) return [violation('fence', `${job.id}: two runs share a fence`, job)]
  // Each add may have started a life with its own attempts.
  if (timesAsked(job) > 1) return []
  const attempts = knownRuns(job).map(attemptOf)
  if (new Set(attempts).size === attempts.length) return []
  return [violation('fence', `${job.id}: two runs share the number of their attempt`, job)]
}
