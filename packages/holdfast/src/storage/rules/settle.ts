// settle: records outcomes whose fence still matches. finish.ts writes the ends of jobs and chains.
// Invariant: nothing is written unless (type, id, worker, attempt) is the current lease, or the job is the expected tail.

import { isTerminal } from './job/states.ts'
import { outcomeJobs } from '../check.ts'
import type { AttemptRecord, JobRef, JobState, Outcome, Refusal, SettleVerdict } from '../storage.ts'
import { addAfter } from './add.ts'
import { recordAttempt, findAttempt, leaveProcessing } from './job/attempt.ts'
import { missingBlockers } from './job/block.ts'
import { type Effects, endContinued, expiryOf, finish } from './job/finish.ts'
import { isFree } from './job/id.ts'
import { refusalIn } from './job/refuse.ts'
import { keepReport } from './job/report.ts'
import { find, isExpiredPart, isGone, type Job, type Move } from './move.ts'
import { standingOf } from './job/standing.ts'
import { dueAt, moveToBack, refreshGroup, wait } from './job/wait.ts'

export function settle(move: Move, outcomes: readonly Outcome[]): SettleVerdict[] {
  return outcomes.map((outcome) => settleOne(move, outcome))
}

function settleOne(move: Move, outcome: Outcome): SettleVerdict {
  const job = move.stored(outcome)
  const fence = fenceOf(outcome)
  const recorded = job && findAttempt(job, fence)
  // A repeat gets the answer of the first call.
  if (recorded) return isOwnEnd(recorded) ? repeatOf(job!, recorded) : { verdict: refusalOf(move, job) }
  if (!job || !isFenceValid(move, job, outcome)) return { verdict: refusalOf(move, job) }
  if (outcome.kind === 'continued' || ('add' in outcome && outcome.add !== undefined)) {
    const conflict = conflictOf(move, job, outcome)
    if (conflict) return conflict
  }
  return record(move, job, outcome, fence)
}

/** Without a worker, the token takes its place. */
function fenceOf(outcome: Outcome): { worker: string; attempt: number } {
  return 'chain' in outcome ? { worker: outcome.token, attempt: 0 } : outcome
}

/** False of an attempt that was taken back, or cancelled by force: its worker did not end it. */
const isOwnEnd = ({ outcome }: AttemptRecord): boolean => outcome !== 'stalled' && outcome !== 'cancelled'

function repeatOf(job: Job, { state }: AttemptRecord): SettleVerdict {
  return { verdict: 'settled', state, expiresAt: expiryOf(job), added: [], ended: [], unblocked: [] }
}

function isFenceValid(move: Move, job: Job, outcome: Outcome): boolean {
  if ('chain' in outcome) {
    const chain = find(move, outcome.chain)
    return chain !== undefined && chain === job.chain && chain.tail === job && !isTerminal(job.state)
  }
  return job.state === 'processing' && job.lease!.worker === outcome.worker && job.attempt === outcome.attempt
}

export function refusalOf(move: Move, job: Job | undefined): Refusal {
  if (!job || isGone(move, job)) return 'not_found'
  if (job.state === 'cancelled') return 'cancelled'
  return isTerminal(job.state) ? 'already_completed' : 'taken_by_another_worker'
}

/** The verdict if the jobs of the outcome cannot be added: then nothing is written. */
function conflictOf(move: Move, job: Job, outcome: Outcome): SettleVerdict | undefined {
  // A job that ends as cancelled adds no jobs.
  if (job.cancelling && outcome.kind !== 'completed') return undefined
  const jobs = outcomeJobs(outcome)
  const missing = missingBlockers(move, jobs, outcome.kind === 'continued' ? outcome.add : jobs)
  const taken = outcome.kind === 'continued' && isTaken(move, outcome.next)
  const refused = refusalIn(move, jobs)
  if (!missing && !taken && !refused) return undefined
  return {
    verdict: 'conflict',
    added: jobs.map((item) => {
      const blocker = missing?.get(item.token)
      if (blocker) return { verdict: 'blocker_not_found', blocker }
      if (refused?.token === item.token) return refused.verdict
      const existing = find(move, item)
      return existing ? { verdict: 'duplicate', by: 'id', job: standingOf(move, existing) } : { verdict: 'skipped' }
    }),
  }
}

/** True if the id is used, or belongs to a failed chain that still has dependents. */
function isTaken(move: Move, next: JobRef): boolean {
  const existing = move.stored(next)
  // An expired part of a chain takes no id, although its chain may be needed.
  if (existing && isExpiredPart(move, existing)) return false
  return !isFree(move, existing) || Boolean(existing?.chain.dependents?.size)
}

/** For an end without dependents: nearly every one. */
const nothing: never[] = []
const noEffects: Effects = { ended: nothing, unblocked: nothing }

function record(move: Move, job: Job, outcome: Outcome, fence: { worker: string; attempt: number }): SettleVerdict {
  const effects: Effects = job.chain.dependents ? { ended: [], unblocked: [] } : noEffects
  const error = 'error' in outcome && (outcome.kind !== 'released' || isSnooze(outcome)) ? outcome.error : undefined
  const state = stateAfter(move, job, outcome)
  if ('chain' in outcome) {
    if (job.state === 'processing') move.abort(job)
    if (job.lease) job.lease = { ...job.lease, label: undefined }
  } else {
    keepReport(move, job, outcome)
  }
  // The fields of the job describe the attempt that completed it (attempt.ts).
  if (outcome.kind === 'completed' && !('chain' in outcome)) job.completedByHolder = true
  else recordAttempt(move, job, outcome.kind, state, error, fence)
  if (outcome.kind === 'retry' || outcome.kind === 'failed') {
    job.failures++
    if (outcome.stalled) move.event(job, 'stalled', job.failures)
  }
  if (isTerminal(state)) end(move, job, outcome, state, effects)
  else waitAgain(move, job, outcome, state)
  const adds = state === 'completed' || state === 'failed' ? outcomeJobs(outcome) : nothing
  const added = adds.length > 0 ? addAfter(move, outcome.kind === 'continued' ? job : undefined, adds) : nothing
  const expiresAt = expiryOf(job)
  return isTerminal(state)
    ? { verdict: 'settled', state, expiresAt, added, ended: effects.ended, unblocked: effects.unblocked }
    : { verdict: 'settled', state, runAt: job.runAt, added, ended: effects.ended, unblocked: effects.unblocked }
}

function stateAfter(move: Move, job: Job, outcome: Outcome): JobState {
  if (outcome.kind === 'completed') return 'completed'
  if (job.cancelling) return 'cancelled'
  switch (outcome.kind) {
    case 'continued':
      return 'completed'
    case 'failed':
      return 'failed'
    case 'retry':
      if (job.failures + 1 >= (job.maxAttempts ?? Infinity)) return 'failed'
      return outcome.stalled ? 'queued' : 'failing'
    case 'released':
      return (isSnooze(outcome) ? dueAt(move, outcome) : job.runAt) > move.now ? 'scheduled' : 'queued'
  }
}

function end(move: Move, job: Job, outcome: Outcome, state: JobState, effects: Effects): void {
  if (outcome.kind === 'continued' && state === 'completed') return endContinued(move, job)
  if (state === 'completed' && outcome.kind === 'completed') {
    return finish(move, job, { state, result: outcome.result, keepMs: outcome.keepMs }, effects)
  }
  if (state === 'cancelled') return finish(move, job, { state }, effects)
  // Unreachable: for the compiler.
  if (outcome.kind !== 'retry' && outcome.kind !== 'failed') return
  const keepMs = outcome.kind === 'failed' ? outcome.keepMs : undefined
  if (outcome.stalled) finish(move, job, { state: 'failed', reason: 'stalled', keepMs }, effects)
  else finish(move, job, { state: 'failed', error: outcome.error, keepMs }, effects)
}

/** Puts the job back among the waiting ones. Events come first: they need the label of the lease. */
function waitAgain(move: Move, job: Job, outcome: Outcome, state: JobState): void {
  if (outcome.kind === 'released') {
    move.event(job, 'requeued', job.failures)
    if (outcome.payload) job.payload = outcome.payload
    if (isSnooze(outcome)) {
      if (!outcome.slowDown) job.snoozes++
      job.error = outcome.error
      moveToBack(move, job, dueAt(move, outcome))
    }
  } else if (outcome.kind === 'retry') {
    if (outcome.error) job.error = outcome.error
    moveToBack(move, job, outcome.stalled ? move.now : dueAt(move, outcome))
    if (state === 'failing') move.event(job, 'failing', job.failures)
  }
  leaveProcessing(move, job)
  wait(move, job, state === 'failing')
  if (outcome.kind === 'released' && outcome.slowDown) slowDown(move, job, outcome.slowDown)
}

/** Nothing else of the type, or of the group, starts before the job is due. Of several slow-downs, the latest counts. */
function slowDown(move: Move, { type, group, runAt }: Job, scope: 'type' | 'group' | 'job'): void {
  if (runAt <= move.now) return
  if (scope === 'type') {
    const slowedUntil = move.flowOf(type)?.slowedUntil ?? 0
    if (runAt > slowedUntil) move.changeFlow(type, { slowedUntil: runAt })
  } else if (scope === 'group' && group && runAt > group.slowedUntil) {
    move.changeGroup(group, { slowedUntil: runAt })
    refreshGroup(move, group)
  }
}

const isSnooze = (outcome: Outcome & { kind: 'released' }): boolean =>
  outcome.runAt !== undefined || outcome.delayMs !== undefined
