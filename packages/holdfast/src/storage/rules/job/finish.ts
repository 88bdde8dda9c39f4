// The end of jobs and chains, its effects on dependents, and the deletion of records.
// Invariant: the end of a chain, its dependents and its key change in the same call in which its tail ends.

import { isTerminal, type TerminalState } from './states.ts'
import type { Bytes, EndReason, Ended, JobRef, Retention } from '../../storage.ts'
import { forgetKey, freeKey } from './key.ts'
import { expiryAt, type Job, type Move, refOf, refsOf } from '../move.ts'
import { leave, leaveGroup, emitWaiting, holdGroup, releaseHold, wait } from './wait.ts'

/** The fields that an end sets. */
export interface EndFields {
  readonly state: TerminalState
  readonly reason?: EndReason
  readonly result?: Bytes
  readonly error?: Bytes
  readonly keepMs?: number
}

/** The effects of an end on other jobs. */
export interface Effects {
  readonly ended: Ended[]
  readonly unblocked: JobRef[]
}

/** Ends a job and the chain whose tail it is. A plain job is a chain of one. */
export function finish(move: Move, job: Job, end: EndFields, effects: Effects): void {
  endJob(move, job, end)
  const failing = endChain(move, job, end, effects)
  if (failing) failAll(move, failing, effects)
}

/** Fails the dependents of a failed chain, and their dependents in turn. */
function failAll(move: Move, failing: Job[], effects: Effects): void {
  const end = { state: 'failed', reason: 'blocker_failed' } as const
  for (let job = failing.pop(); job; job = failing.pop()) {
    if (isTerminal(job.state)) continue
    endJob(move, job, end)
    effects.ended.push(endedOf(job))
    failing.push(...(endChain(move, job, end, effects) ?? []))
  }
}

/**
 * Ends a job whose chain continues with another. It expires by itself, so that a chain that never ends stays bounded. The first
 * job has the fields of the chain: it lives as long as that.
 */
export function endContinued(move: Move, job: Job): void {
  endJob(move, job, { state: 'completed' })
  if (job === job.chain || job.retention.completedMs === Infinity) return
  job.expiresAt = move.now + job.retention.completedMs
  move.place(job, 'ended')
}

// Fields that rarely change are compared before they are set: fields that few jobs have should not be created on all jobs.
function endJob(move: Move, job: Job, end: EndFields): void {
  const wasRunning = job.state === 'processing'
  // It leaves its place and keeps its lease, by which the repeat of its completion is recognised (attempt.ts).
  leave(move, job)
  if (job.reason !== end.reason) job.reason = end.reason
  job.result = end.result
  if (job.error && (end.state === 'completed' || end.reason !== undefined)) job.error = undefined
  if (end.error) job.error = end.error
  job.finishedAt = move.now
  if (job.deadlineAt !== undefined) job.deadlineAt = undefined
  if (job.cancelling) job.cancelling = false
  move.setState(job, end.state)
  if (job.group) {
    // A record that is kept for 0 ms is gone: no call could release the group.
    if (end.state === 'failed' && (end.keepMs ?? job.retention.failedMs) > 0) holdGroup(move, job)
    leaveGroup(move, job, wasRunning)
  }
  releaseBlockers(move, job)
  move.event(job, end.state, job.failures + (end.state === 'completed' ? 1 : 0))
}

/** Unblocks the dependents of a completed chain. Returns the dependents that fail with a failed one. */
function endChain(move: Move, { chain, retention }: Job, end: EndFields, effects: Effects): Job[] | undefined {
  chain.expiresAt = move.now + (end.keepMs ?? keepMsOf(retention, end.state))
  expireLater(move, chain)
  freeKey(move, chain, end.state)
  move.done(chain)
  const { dependents } = chain
  if (!dependents?.size) return undefined
  const failing: Job[] = []
  for (const dependent of dependents) {
    if (dependent.state !== 'blocked') continue
    if (end.state === 'completed' || dependent.onBlockerFailure === 'run') {
      if (countDone(move, dependent, chain)) {
        unblock(move, dependent)
        effects.unblocked.push(refOf(dependent))
      }
    } else if (dependent.onBlockerFailure === 'fail') {
      failing.push(dependent)
    }
  }
  return failing
}

/** Written out: a property name concatenated for each end costs more than the rest of the end. */
function keepMsOf({ completedMs, failedMs, cancelledMs }: Retention, state: TerminalState): number {
  return state === 'completed' ? completedMs : state === 'failed' ? failedMs : cancelledMs
}

/**
 * Counts a blocker that is done. True if it was the last one. A chain that is named twice counts once; so does one that ended
 * again after a revival.
 */
function countDone(move: Move, dependent: Job, chain: Job): boolean {
  let isCounted = false
  for (const blocker of dependent.blockers!) {
    if (blocker.done || blocker.ref.id !== chain.id || blocker.ref.type !== chain.type.name) continue
    if (!isCounted) move.touch(dependent)
    blocker.done = true
    isCounted = true
  }
  if (!isCounted) return false
  dependent.openBlockers--
  return dependent.openBlockers === 0
}

export function unblock(move: Move, job: Job): void {
  job.runAt = Math.max(job.runAt, move.now)
  wait(move, job)
  emitWaiting(move, job)
}

/** Lets an ended chain expire, unless a dependent needs it or it is kept for ever. */
export function expireLater(move: Move, chain: Job): void {
  if (!isSweepable(chain)) move.place(chain, 'nowhere')
  else move.place(chain, expiryAt(chain) === Infinity ? 'kept' : 'ended')
}

/** A sweep may delete the chain: it has ended, and no dependent needs it. A count to keep applies even if it never expires. */
export const isSweepable = ({ tail, dependents }: Job): boolean => isTerminal(tail.state) && !dependents?.size

/** When the record of a job in an ended chain, or of an ended part of a live one, expires, if that is certain. */
export function expiryOf(job: Job): number | undefined {
  const own = job.chainIndex > 0 ? job.expiresAt : undefined
  const ofChain = chainExpiryOf(job.chain)
  return own === undefined || ofChain === undefined ? (own ?? ofChain) : Math.min(own, ofChain)
}

function chainExpiryOf(chain: Job): number | undefined {
  if (expiryAt(chain) === Infinity || chain.dependents?.size || !isTerminal(chain.tail.state)) return undefined
  return chain.expiresAt
}

/** The job has ended: its blockers are no longer kept for it. */
function releaseBlockers(move: Move, job: Job): void {
  if (!job.blockers) return
  move.loadTogether(refsOf(job.blockers), 'dependents')
  for (const { ref } of job.blockers) {
    const chain = move.stored(ref)
    if (chain?.dependents?.delete(job) && isTerminal(chain.tail.state)) expireLater(move, chain)
  }
}

/** Deletes a chain with all its jobs. Its dependents keep waiting for a chain of this name. */
export function forget(move: Move, chain: Job): void {
  const jobs = move.jobsOf(chain)
  for (const job of jobs) {
    if (isTerminal(job.state)) {
      move.place(job, 'nowhere')
      releaseHold(move, job)
      continue
    }
    const wasRunning = job.state === 'processing'
    if (wasRunning) move.abort(job)
    leave(move, job)
    move.setState(job, 'cancelled')
    leaveGroup(move, job, wasRunning)
    releaseBlockers(move, job)
  }
  move.place(chain, 'nowhere')
  forgetKey(move, chain)
  move.done(chain)
  for (const job of jobs) move.erase(job)
}

/** Deletes a job that has ended inside a chain. The chain goes on without it. */
export function forgetContinued(move: Move, job: Job): void {
  move.place(job, 'nowhere')
  move.leaveChain(job)
  move.erase(job)
}

/** Deletes an expired record, for a sweep: of a chain with all its jobs, or of one job inside it. @returns how many were deleted */
export function forgetExpired(move: Move, job: Job): number {
  if (job !== job.chain) {
    forgetContinued(move, job)
    return 1
  }
  const { length } = move.jobsOf(job)
  forget(move, job)
  return length
}

export function endedOf(job: Job): Ended {
  return {
    ...refOf(job),
    chain: refOf(job.chain),
    state: job.state as Ended['state'],
    reason: job.reason,
    attempt: job.attempt,
    failures: job.failures,
    payload: job.payload,
  }
}
