// A job that was cancelled and not revived stays cancelled, and no run completes it. (S9)

import { completions, type JobHistory, type Violation, violation, wasCalled } from '../history.ts'

export function cancelIsFinal(job: JobHistory): Violation[] {
  const isCancelled = job.entries.some((entry) => {
    return entry.what === 'called' && entry.verb === 'cancel' && entry.verdict === 'cancelled'
  })
  if (!isCancelled || wasCalled(job, 'revive') || wasCalled(job, 'remove')) return []
  if (completions(job).length === 0 && job.record?.state === 'cancelled') return []
  return [violation('cancel', `${job.id} was cancelled and is ${job.record?.state ?? 'gone'}`, job)]
}
