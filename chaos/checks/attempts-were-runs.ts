// Every recorded attempt was run, and no more attempts failed than allowed. (S2, S17)

import { aheadWorker } from 'holdfast/storage'
import {
  type FinalRecord,
  type JobHistory,
  knownRuns,
  timesAsked,
  type Violation,
  violation,
  wasCalled,
} from '../history.ts'

const check = 'attempts'

/** Whether the attempt was lost while the job may still have been held ahead, or was handed over. */
const mayNotHaveStarted = ({ fence, outcome }: FinalRecord['attempts'][number]): boolean =>
  outcome === 'stalled' && fence.includes(`${aheadWorker('')}#`)

export function attemptsWereRuns(job: JobHistory): Violation[] {
  const { id, record, entries, maxAttempts } = job
  if (!record) return []
  const runs = new Set(entries.flatMap((entry) => (entry.what === 'started' ? [entry.fence] : [])))
  // Taken back or released: the reply to its claim may have been lost, so that no worker ran it.
  const byHandlers = record.attempts.filter(({ outcome }) => ['completed', 'retry', 'failed'].includes(outcome))
  const unseen = byHandlers.filter(({ fence }) => !runs.has(fence))
  if (unseen.length > 0) return [violation(check, `${id}: no worker ran its attempt ${unseen[0]!.fence}`, job)]
  const known = new Set(knownRuns(job)).size
  if (timesAsked(job) === 1 && known > record.attempt) {
    return [violation(check, `${id} ran ${known} times, its record says ${record.attempt}`, job)]
  }
  if (record.failures > maxAttempts) {
    return [violation(check, `${id} failed ${record.failures} times, ${maxAttempts} were allowed`, job)]
  }
  // The loss of a job that may not have started costs no attempt, once.
  const allowed = maxAttempts + (record.attempts.some(mayNotHaveStarted) ? 1 : 0)
  if (timesAsked(job) === 1 && !wasCalled(job, 'revive') && runs.size > allowed && job.kind === 'poison') {
    return [violation(check, `${id} ended ${runs.size} processes, ${allowed} were allowed`, job)]
  }
  return []
}
