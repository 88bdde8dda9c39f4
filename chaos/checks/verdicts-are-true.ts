// What a run or a waiting caller was told is what the record says. (S7, S12)

import { attemptOf } from '../entries.ts'
import { completions, type JobHistory, mayBeGone, type Violation, violation } from '../history.ts'

const check = 'verdict'

export function verdictsAreTrue(job: JobHistory): Violation[] {
  const { id, record, entries } = job
  // Completed is final: no second life follows from it.
  if (completions(job).length > 0 && !mayBeGone(job) && record?.state !== 'completed') {
    return [violation(check, `${id}: a run was told that it completed it, the record says ${record?.state}`, job)]
  }
  const answered = entries.flatMap((entry) => (entry.what === 'answered' ? [entry.fence] : []))
  if (record && answered.some((fence) => fence !== record.fence)) {
    return [violation(check, `${id}: a caller was given the result of ${answered.join(', ')}`, job)]
  }
  if (record?.state === 'completed' && (!record.fence || attemptOf(record.fence) > record.attempt)) {
    return [violation(check, `${id}: the result is of attempt ${record.fence}, of ${record.attempt}`, job)]
  }
  return []
}
