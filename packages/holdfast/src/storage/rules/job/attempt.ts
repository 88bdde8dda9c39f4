// The ended attempts of a job, by which the repeat of a settle gets the answer of the first. Nearly every attempt completes
// its job. The fields of the job describe that one, its lease among them, so it needs no entry.

import type { AttemptRecord } from '../../storage.ts'
import type { Job, Move } from '../move.ts'
import { attemptsKept } from './codes.ts'
import { leave } from './wait.ts'

/** Ends the lease. The caller sets the next state and place. */
export function leaveProcessing(move: Move, job: Job): void {
  leave(move, job)
  job.lease = undefined
}

interface AttemptRef {
  readonly worker: string
  readonly attempt: number
}

export function recordAttempt(
  move: Move,
  job: Job,
  outcome: AttemptRecord['outcome'],
  state: AttemptRecord['state'],
  error?: AttemptRecord['error'],
  { worker, attempt }: AttemptRef = { worker: job.lease!.worker, attempt: job.attempt },
): void {
  const { label, startedAt = move.now } = job.lease ?? {}
  const entry: AttemptRecord = { attempt, worker, label, startedAt, endedAt: move.now, outcome, state, error }
  job.attempts = [...(job.attempts ?? []), entry].slice(-attemptsKept)
}

/** The ended attempt with this fence. */
export function findAttempt(job: Job, fence: AttemptRef): AttemptRecord | undefined {
  const { completedByHolder, attempt, lease } = job
  if (completedByHolder && attempt === fence.attempt && lease!.worker === fence.worker) return completion(job)
  return job.attempts?.find((ended) => ended.worker === fence.worker && ended.attempt === fence.attempt)
}

/** The attempts that a record keeps, the oldest first. */
export function attemptsOf(job: Job): AttemptRecord[] {
  const attempts = job.attempts ?? []
  return (job.completedByHolder ? [...attempts, completion(job)] : [...attempts]).slice(-attemptsKept)
}

function completion({ attempt, lease, finishedAt }: Job): AttemptRecord {
  const { worker, label, startedAt } = lease!
  const ended = { endedAt: finishedAt!, outcome: 'completed', state: 'completed', error: undefined } as const
  return { attempt, worker, label, startedAt, ...ended }
}
