// Every acknowledged job is there at the end, in a terminal state; or it ran and is gone by right. (S1, L1)

import {
  type JobHistory,
  mayBeGone,
  terminalStates,
  timesAsked,
  type Violation,
  violation,
  wasAcked,
} from '../history.ts'

const check = 'lost'

export function noJobLost(job: JobHistory): Violation[] {
  const { id, record } = job
  // Its worker may have died over it, and another run adds another.
  if (!wasAcked(job) && job.kind === 'followed') return []
  if (!wasAcked(job)) {
    return [violation('unresolved', `${id} was asked for ${timesAsked(job)} times and never answered`, job)]
  }
  if (record) {
    if (terminalStates.includes(record.state)) return []
    return [violation('live', `${id} is ${record.state} after all was drained`, job)]
  }
  if (!mayBeGone(job)) return [violation(check, `${id} was acknowledged and is gone`, job)]
  const ran = job.entries.some(({ what }) => what === 'ended')
  return ran ? [] : [violation(check, `${id} was acknowledged and is gone without having run to its end`, job)]
}
