// How jobs end in the reference, the effect on their dependents, and the removal of records.

import type { Bytes, Ended, EndReason, JobRef, Report } from 'holdfast/storage'
import {
  type Attempt,
  dependentsOf,
  isEnded,
  isSame,
  type Job,
  must,
  nameOf,
  nameOfRef,
  plain,
  same,
  sameBytes,
  show,
  tailOf,
  type World,
} from '../reference.ts'
import { isUnstarted } from './ahead.ts'
import { loseTurn } from './turns.ts'

export interface End {
  readonly state: 'completed' | 'failed' | 'cancelled'
  readonly reason?: EndReason
  readonly result?: Bytes
  readonly error?: Bytes | 'any'
  readonly keepMs?: number
}

/** The effects of an end on other jobs. */
export interface Effects {
  readonly ended: Job[]
  readonly unblocked: Job[]
}

export const noEffects = (): Effects => ({ ended: [], unblocked: [] })

export function endJob(world: World, job: Job, end: End): void {
  loseTurn(world, job)
  job.phase = end.state
  job.reason = end.reason
  job.result = end.result
  if (end.state === 'completed' || end.reason) job.error = undefined
  if (end.error !== undefined) job.error = end.error
  job.finishedAt = world.now
  job.endedIn = world.moves
  job.deadlineAt = Infinity
  job.cancelling = false
}

/** The job was not started in time. */
export function endOverdue(world: World, job: Job, effects: Effects): void {
  effects.ended.push(job)
  endChain(world, job, { state: 'cancelled', reason: 'expired' }, effects)
}

/** Stores what an attempt reported. A line is stored already if it is not later than another one of its attempt. */
export function keepReport(job: Job, { progress, log = [] }: Report): void {
  if (progress !== undefined) job.progress = progress
  const { attempt } = job
  const known = Math.max(...job.log.map((line) => (line.attempt === attempt ? line.at : -Infinity)))
  const added = log.filter(({ at }) => at > known)
  job.log = [...job.log, ...added.map(({ at, line }) => ({ attempt, at, line }))]
}

/** Ends the tail of a chain, and with it the chain. */
export function endChain(world: World, tail: Job, end: End, effects: Effects): void {
  endJob(world, tail, end)
  const head = tail.chain
  head.keepMs = end.keepMs ?? tail.made.retention[`${end.state}Ms`]
  head.expiresAt = world.now + head.keepMs
  const { group } = tail.made
  tail.holds = end.state === 'failed' && head.keepMs > 0 && group?.ordered === true && group.onFailure === 'hold'
  const { mark } = head
  const isKept = mark?.mode === 'throttle' && end.state === 'completed'
  if (mark && !mark.shared && mark.mode !== 'ascending' && !isKept) freeKey(world, head)
  for (const dependent of dependentsOf(world, head)) {
    if (dependent.phase !== 'blocked') continue
    if (end.state === 'completed' || dependent.made.onBlockerFailure === 'run') {
      for (const blocker of dependent.blockers) if (isSame(blocker.ref, head)) blocker.done = true
      if (dependent.blockers.some(({ done }) => !done)) continue
      unblock(world, dependent)
      effects.unblocked.push(dependent)
    } else if (dependent.made.onBlockerFailure !== 'wait') {
      effects.ended.push(dependent)
      endChain(world, dependent, { state: 'failed', reason: 'blocker_failed' }, effects)
    }
  }
}

export function unblock(world: World, job: Job): void {
  job.phase = 'waiting'
  job.runAt = Math.max(job.runAt, world.now)
}

/** The key is free, or the job that this one follows has it again. */
function freeKey(world: World, head: Job): void {
  const name = nameOf(head.type, head.mark!.key)
  if (world.marks.get(name) !== head.mark) return
  const { follows } = head
  const isLive = follows && world.jobs.get(nameOfRef(follows)) === follows && !isEnded(tailOf(world, follows))
  if (!isLive) world.marks.delete(name)
  else world.marks.set(name, (follows.mark = { ...follows.mark!, replacedBy: undefined }))
}

/** Deletes a chain with all its jobs. A window that outlives its record stays. */
export function forget(world: World, head: Job): void {
  for (const [name, job] of world.jobs) {
    if (job.chain !== head) continue
    loseTurn(world, job)
    world.jobs.delete(name)
  }
  if (!head.mark) return
  head.mark.orphaned = true
  const { mode, windowMs } = head.mark
  if (mode !== 'ascending' && (mode !== 'throttle' || windowMs === Infinity)) freeKey(world, head)
}

export function recordAttempt(
  world: World,
  job: Job,
  end: Pick<Attempt, 'outcome' | 'state' | 'error'> & { readonly token?: string },
): void {
  job.attempts.push({
    worker: end.token ?? job.worker!,
    attempt: end.token === undefined ? job.attempt : 0,
    label: job.label,
    outcome: end.outcome,
    state: end.state,
    error: end.error,
    startedAt: job.startedAt,
    endedAt: world.now,
    workerless: end.token !== undefined,
  })
  if (job.attempts.length > 10) job.attempts.shift()
}

/** Returns the job to the waiting ones, behind all of them. */
export function goBehind(world: World, job: Job, runAt: number): void {
  loseTurn(world, job)
  job.runAt = runAt
  job.order = { move: world.moves, place: 0, loose: true }
}

/** Takes back a lost lease or an attempt above the age limit. @param maxAttempts for jobs without their own */
export function takeBack(world: World, job: Job, effects: Effects, maxAttempts = Infinity): void {
  const counts = !isUnstarted(job)
  if (counts) job.failures++
  const state = job.cancelling
    ? 'cancelled'
    : counts && job.failures >= (job.made.maxAttempts ?? maxAttempts)
      ? 'failed'
      : 'queued'
  recordAttempt(world, job, { outcome: 'stalled', state, error: undefined })
  if (state === 'queued') {
    job.phase = 'waiting'
    if (counts) goBehind(world, job, world.now)
    return
  }
  effects.ended.push(job)
  endChain(world, job, state === 'failed' ? { state, reason: 'stalled' } : { state }, effects)
}

export function sameEnded(actual: readonly Ended[], expected: readonly Job[]): void {
  sameRefs('ended', actual, expected)
  for (const entry of actual) {
    const job = expected.find((other) => isSame(other, entry))!
    same('ended: chain', show(plain(entry.chain)), show(plain(job.chain)), job)
    same('ended: state', entry.state, job.phase, job)
    same('ended: reason', entry.reason, job.reason, job)
    same('ended: attempt', entry.attempt, job.attempt, job)
    same('ended: failures', entry.failures, job.failures, job)
    sameBytes('ended: payload', entry.payload, job.payload, job)
  }
}

/** The same jobs, each once, in any order. */
export function sameRefs(what: string, actual: readonly JobRef[], expected: readonly JobRef[]): void {
  must(
    actual.length === expected.length && expected.every((job) => actual.some((other) => isSame(job, other))),
    () => `${what} is ${show(actual.map(plain))}, expected ${show(expected.map(plain))}`,
  )
}
