// How an attempt ends: the record keeps what became of it, so that a repeat is answered as the first. Nearly every attempt
// is the one that completed its job; that one is told by the job's own fields, its lease among them, and needs no entry.

import type { AttemptRecord } from '../../storage.ts'
import type { Job, Move } from '../move.ts'
import { attemptsKept } from './codes.ts'
import { leave } from './wait.ts'

/** Gives the lease up. What the job does next is the caller's. */
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

/** The attempt with this fence, if it has ended. */
export function findAttempt(job: Job, fence: AttemptRef): AttemptRecord | undefined {
  const { completedByHolder, attempt, lease } = job
  if (completedByHolder && attempt === fence.attempt && lease!.worker === fence.worker) return completion(job)
  return job.attempts?.find((ended) => ended.worker === fence.worker && ended.attempt === fence.attempt)
}

/** Those that a record keeps, the last at the end. */
export function attemptsOf(job: Job): AttemptRecord[] {
  const attempts = job.attempts ?? []
  return (job.completedByHolder ? [...attempts, completion(job)] : [...attempts]).slice(-attemptsKept)
}

function completion({ attempt, lease, finishedAt }: Job): AttemptRecord {
  const { worker, label, startedAt } = lease!
  const ended = { endedAt: finishedAt!, outcome: 'completed', state: 'completed', error: undefined } as const
  return { attempt, worker, label, startedAt, ...ended }
}
