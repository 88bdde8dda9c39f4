// A job completes once: one run was told so, and the record is that run's. (S7)

import { completions, type JobHistory, timesAsked, type Violation, violation } from '../history.ts'

const check = 'doubleRecorded'

export function oneCompletion(job: JobHistory): Violation[] {
  // Asked for again after its record had expired, it is another job of that name.
  if (job.type === 'passing' && timesAsked(job) > 1) return []
  const { id, record } = job
  const told = completions(job)
  if (told.length > 1) return [violation(check, `${id}: ${told.length} runs were told that they completed it`, job)]
  const kept = record?.attempts.filter(({ state }) => state === 'completed') ?? []
  if (kept.length > 1) return [violation(check, `${id}: its record has ${kept.length} completed attempts`, job)]
  if (record?.state === 'completed' && told.length === 1 && record.fence !== told[0]) {
    return [violation(check, `${id}: ${told[0]} was told that it completed it, the record is of ${record.fence}`, job)]
  }
  return []
}
