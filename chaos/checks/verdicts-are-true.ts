// The answers to runs and waiting callers agree with the record. (S7, S12)

import { attemptOf } from '../entries.ts'
import { completions, type JobHistory, mayBeGone, type Violation, violation } from '../history.ts'

const check = 'verdict'

export function verdictsAreTrue(job: JobHistory): Violation[] {
  const { id, record, entries } = job
  // A completed job is final: no second life follows.
  if (completions(job).length > 0 && !mayBeGone(job) && record?.state !== 'completed') {
    return [violation(check, `${id}: a completion was accepted, the record is ${record?.state}`, job)]
  }
  const answered = entries.flatMap((entry) => (entry.what === 'answered' ? [entry.fence] : []))
  if (record && answered.some((fence) => fence !== record.fence)) {
    return [violation(check, `${id}: a caller got the result of ${answered.join(', ')}`, job)]
  }
  if (record?.state === 'completed' && (!record.fence || attemptOf(record.fence) > record.attempt)) {
    return [
      violation(check, `${id}: the result is from attempt ${record.fence}, the record has ${record.attempt}`, job),
    ]
  }
  return []
}
