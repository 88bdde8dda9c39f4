// Every acknowledged job is terminal at the end, or it ran and its record expired or was removed. (S1, L1)

import {
  type JobHistory,
  mayBeGone,
  terminalStates,
  timesAsked,
  type Violation,
  violation,
  wasAcked,
  wasDeduplicated,
} from '../history.ts'

const check = 'lost'

export function noJobLost(job: JobHistory): Violation[] {
  const { id, record } = job
  // The worker may have died before the answer; the next run adds another job.
  if (!wasAcked(job) && job.kind === 'followed') return []
  if (!wasAcked(job) && job.kind !== 'slot') {
    return [violation('unresolved', `${id} was added ${timesAsked(job)} times and never answered`, job)]
  }
  if (record) {
    if (terminalStates.includes(record.state)) return []
    return [violation('live', `${id} is ${record.state} after the drain`, job)]
  }
  if (wasDeduplicated(job)) return []
  if (!mayBeGone(job)) return [violation(check, `${id} was acknowledged and is gone`, job)]
  const ran = job.entries.some(({ what }) => what === 'ended')
  return ran ? [] : [violation(check, `${id} was acknowledged and is gone before it ran to its end`, job)]
}
