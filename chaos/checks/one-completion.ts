// A job completes once: one completion was accepted, and the record shows that run. (S7)

import { completions, type JobHistory, timesAsked, type Violation, violation } from '../history.ts'

const check = 'doubleRecorded'

export function oneCompletion(job: JobHistory): Violation[] {
  // Added again after its record had expired, it is another job of that id.
  if (job.type === 'passing' && timesAsked(job) > 1) return []
  const { id, record } = job
  const accepted = completions(job)
  if (accepted.length > 1)
    return [violation(check, `${id}: the completions of ${accepted.length} runs were accepted`, job)]
  const kept = record?.attempts.filter(({ state }) => state === 'completed') ?? []
  if (kept.length > 1) return [violation(check, `${id}: its record has ${kept.length} completed attempts`, job)]
  if (record?.state === 'completed' && accepted.length === 1 && record.fence !== accepted[0]) {
    return [
      violation(check, `${id}: the completion of ${accepted[0]} was accepted, the record shows ${record.fence}`, job),
    ]
  }
  return []
}
