// A settle is accepted only from the run that holds the job: not after its lease was taken back, nor after another run of that
// life started. (S6)

import { attemptOf } from '../entries.ts'
import { type JobHistory, timesAsked, type Violation, violation, wasCalled } from '../history.ts'

const check = 'stale'

export function settlesWereInForce(job: JobHistory): Violation[] {
  const { id, entries, record } = job
  const accepted = new Set(
    entries.flatMap((entry) => (entry.what === 'settled' && entry.verdict === 'settled' ? [entry.fence] : [])),
  )
  const takenBack = record?.attempts.find(({ fence, outcome }) => outcome === 'stalled' && accepted.has(fence))
  if (takenBack)
    return [
      violation(check, `${id}: the outcome of ${takenBack.fence} was accepted after its lease was taken back`, job),
    ]
  // Another life numbers its attempts from 1 again.
  if (timesAsked(job) > 1 || wasCalled(job, 'revive')) return []
  let latest: string | undefined
  // The handler ends before its outcome is sent: a run that had started by then started before the outcome.
  for (const entry of entries) {
    if (entry.what === 'started' && !(latest && isLater(latest, entry.fence))) latest = entry.fence
    if (entry.what !== 'ended' || !accepted.has(entry.fence) || !latest || !isLater(latest, entry.fence)) continue
    return [violation(check, `${id}: the outcome of ${entry.fence} was accepted while ${latest} held the job`, job)]
  }
  return []
}

const isLater = (one: string, other: string): boolean => attemptOf(one) > attemptOf(other)
