// How an attempt ends: its lease is given up, and the record keeps what became of it. Nearly every attempt is the one that
// completed its job; that one is told by the job's own fields, and needs no entry.

import type { AttemptRecord } from '../storage.ts'
import type { Job } from './data.ts'
import type { Move } from './move.ts'
import { leaveHeap } from './waiting.ts'

/** Gives the lease up. What the job does next is the caller's. */
export function leaveProcessing(job: Job): void {
  leaveHeap(job)
  job.lease = undefined
  if (job.group?.running === job) job.group.running = undefined
}

/** Attempts that a record keeps. */
const attemptsKept = 10

export function endAttempt(
  move: Move,
  job: Job,
  outcome: AttemptRecord['outcome'],
  state: AttemptRecord['state'],
  error?: AttemptRecord['error'],
  fence: { worker: string; attempt: number } = { worker: job.lease!.worker, attempt: job.attempt },
): void {
  const entry: AttemptRecord = {
    attempt: fence.attempt,
    worker: fence.worker,
    label: job.lease?.label,
    startedAt: job.lease?.startedAt ?? move.now,
    endedAt: move.now,
    outcome,
    state,
    error,
  }
  if (!job.attempts) job.attempts = [entry]
  else if (job.attempts.push(entry) > attemptsKept) job.attempts.shift()
}

/** The attempt with this fence, if it has ended. */
export function endedAttempt(job: Job, fence: { worker: string; attempt: number }): AttemptRecord | undefined {
  if (job.completedByHolder && job.lease!.worker === fence.worker && job.attempt === fence.attempt)
    return completion(job)
  return job.attempts?.find(({ worker, attempt }) => worker === fence.worker && attempt === fence.attempt)
}

/** Those that a record keeps, the last at the end. */
export function attemptsOf(job: Job): AttemptRecord[] {
  const attempts = job.completedByHolder ? [...(job.attempts ?? []), completion(job)] : [...(job.attempts ?? [])]
  return attempts.slice(-attemptsKept)
}

function completion({ attempt, lease, finishedAt }: Job): AttemptRecord {
  const { worker, label, startedAt } = lease!
  return {
    attempt,
    worker,
    label,
    startedAt,
    endedAt: finishedAt!,
    outcome: 'completed',
    state: 'completed',
    error: undefined,
  }
}
