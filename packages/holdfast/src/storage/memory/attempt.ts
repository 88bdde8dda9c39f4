// How an attempt ends: its lease is given up, and the record keeps what became of it.

import type { AttemptRecord } from '../storage.ts'
import type { Job } from './data.ts'
import type { Move } from './move.ts'
import { leaveHeap } from './waiting.ts'

/** Gives the lease up. What the job does next is the caller's. */
export function leaveProcessing(job: Job): void {
  leaveHeap(job)
  job.worker = undefined
  job.label = undefined
  job.startedAt = undefined
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
  fence: { worker: string; attempt: number } = { worker: job.worker!, attempt: job.attempt },
): void {
  const entry: AttemptRecord = {
    attempt: fence.attempt,
    worker: fence.worker,
    label: job.label,
    startedAt: job.startedAt ?? move.now,
    endedAt: move.now,
    outcome,
    state,
    error,
  }
  if (!job.attempts) job.attempts = [entry]
  else if (job.attempts.push(entry) > attemptsKept) job.attempts.shift()
}
