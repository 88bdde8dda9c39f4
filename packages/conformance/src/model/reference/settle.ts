// settle and extend in the reference: what a fence allows, and what an outcome does.

import type { Extension, Fence, JobRef, LeaseVerdict, NewJob, Outcome, SettleVerdict } from 'holdfast/storage'
import {
  due,
  expiryOf,
  find,
  isEnded,
  isFree,
  isGone,
  isKept,
  isSame,
  type Job,
  must,
  nameOfRef,
  same,
  sameInstant,
  type Seen,
  show,
  stateOf,
  tailOf,
  type World,
} from '../reference.ts'
import { add, missingBlockers } from './add.ts'
import {
  type Effects,
  keepReport,
  recordAttempt,
  endChain,
  endJob,
  goBehind,
  noEffects,
  sameEnded,
  sameRefs,
} from './end.ts'

import { flowOf, slowDown } from './limits.ts'
import { isRefused } from './refuse.ts'

type Settled = Extract<SettleVerdict, { verdict: 'settled' }>

/** @param verdicts undefined: the reply was lost */
export function settle(
  world: World,
  outcomes: readonly Outcome[],
  verdicts: readonly SettleVerdict[] | undefined,
  seen: Seen,
): void {
  if (verdicts) same('the number of verdicts of settle', verdicts.length, outcomes.length)
  for (const [index, outcome] of outcomes.entries()) settleOne(world, outcome, verdicts?.[index], seen)
}

function settleOne(world: World, outcome: Outcome, verdict: SettleVerdict | undefined, seen: Seen): void {
  const job = world.jobs.get(nameOfRef(outcome))
  const earlier = job?.attempts.find((attempt) =>
    'chain' in outcome
      ? attempt.workerless && attempt.worker === outcome.token
      : attempt.worker === outcome.worker && attempt.attempt === outcome.attempt,
  )
  if (earlier && earlier.outcome !== 'stalled' && earlier.outcome !== 'cancelled') {
    // The record has expired: recognised or forgotten, both are legal.
    if (!verdict || (isGone(world, job!) && verdict.verdict === 'not_found')) return
    same('verdict', verdict.verdict, 'settled', outcome)
    const { state, added, ended, unblocked } = verdict as Settled
    same('settled: state', state, earlier.state, outcome)
    same('settled: added, ended, unblocked', added.length + ended.length + unblocked.length, 0, outcome)
    return
  }
  if (!job || !holds(world, job, outcome)) {
    if (verdict) refused(world, job, verdict.verdict, outcome)
    return
  }
  const jobs = jobsOf(outcome)
  const cancelled = job.cancelling && outcome.kind !== 'completed'
  const next = outcome.kind === 'continued' ? outcome.next : undefined
  const conflict = cancelled ? [false] : conflictOf(world, jobs, next)
  if (conflict.includes(true) && (!conflict.includes(false) || isConflict(job, next, verdict, seen))) {
    if (verdict) same('verdict', verdict.verdict, 'conflict', outcome)
    if (verdict) same('settled: the number of verdicts', (verdict as Settled).added.length, jobs.length, outcome)
    return
  }
  if (verdict) same('verdict', verdict.verdict, 'settled', outcome)
  const effects = noEffects()
  const before = [...world.jobs.values()].filter((other) => other.index === 0 && !isGone(world, other))
  const accepted = verdict as Settled | undefined
  if (!('chain' in outcome)) keepReport(job, outcome)
  record(world, job, outcome, cancelled, effects)
  const adds = isEnded(job) && !cancelled && outcome.kind !== 'retry' ? jobs : []
  const state = stateOf(world, job)
  if (adds.length > 0) add(world, adds, accepted?.added, seen, { predecessor: next && job, before })
  else if (accepted) same('settled: the number of jobs added', accepted.added.length, 0, outcome)
  if (accepted) {
    same('settled: state', accepted.state, state, outcome)
    if (isEnded(job)) {
      const expiry = expiryOf(world, job)
      if (expiry === undefined) same('settled: expiresAt', accepted.expiresAt, undefined, outcome)
      else sameInstant(world, 'settled: expiresAt', accepted.expiresAt, expiry, job)
    } else {
      sameInstant(world, 'settled: runAt', accepted.runAt, job.runAt, job)
    }
    sameEnded(accepted.ended, effects.ended)
    sameRefs('unblocked', accepted.unblocked, effects.unblocked)
  }
}

/** Whether the added jobs refuse the outcome. Both values, where the contract leaves it to the driver. */
function conflictOf(world: World, jobs: readonly NewJob[], next: NewJob | undefined): boolean[] {
  const isMissing = (forgotten: boolean): boolean =>
    missingBlockers(world, jobs, () => forgotten, next ? jobs.slice(1) : jobs).size > 0
  const replaced = next && find(world, next)
  const taken = next && (!isFree(world, next) || (replaced && isKept(world, replaced.chain)))
  // Whether all jobs of the outcome count together, or those of each token, is the driver's choice.
  const isMaybeRefused = isMissing(true) || isRefused(world, jobs)
  const tokens = new Set(jobs.map(({ token }) => token))
  const isSurelyRefused = [...tokens].some((token) => {
    const own = jobs.filter((job) => job.token === token)
    return own.length > 1 && isRefused(world, own)
  })
  return isMissing(false) || taken || isSurelyRefused ? [true] : [isMaybeRefused, false]
}

function isConflict(job: Job, next: NewJob | undefined, verdict: SettleVerdict | undefined, seen: Seen): boolean {
  if (verdict) return verdict.verdict === 'conflict'
  return next ? seen(next)?.token !== next.token : seen(job)?.finishedAt === undefined
}

const jobsOf = (outcome: Outcome): readonly NewJob[] => {
  const more = 'add' in outcome ? (outcome.add ?? []) : []
  return outcome.kind === 'continued' ? [outcome.next, ...more] : more
}

function holds(world: World, job: Job, fence: Fence): boolean {
  if (isGone(world, job)) return false
  if (!('chain' in fence)) {
    return job.phase === 'processing' && job.worker === fence.worker && job.attempt === fence.attempt
  }
  return isSame(job.chain, fence.chain) && tailOf(world, job.chain) === job && !isEnded(job)
}

function refused(world: World, job: Job | undefined, verdict: string, fence: JobRef): void {
  if (!job) return same('verdict', verdict, 'not_found', fence)
  const ended = job.phase === 'cancelled' ? 'cancelled' : isEnded(job) ? 'already_completed' : 'taken_by_another_worker'
  // A job that ended earlier in this move with a retention of 0 ms may be gone or not.
  if (verdict === 'not_found' || tailOf(world, job.chain).endedIn !== world.moves) {
    same('verdict', verdict, isGone(world, job) ? 'not_found' : ended, fence)
  } else same('verdict', verdict, ended, fence)
}

function record(world: World, job: Job, outcome: Outcome, cancelled: boolean, effects: Effects): void {
  const { kind } = outcome
  const counts = kind === 'retry' || kind === 'failed'
  const isSnooze = kind === 'released' && (outcome.runAt !== undefined || outcome.delayMs !== undefined)
  const error = counts || isSnooze ? outcome.error : undefined
  if (counts) job.failures++
  const over = kind === 'retry' && job.failures >= (job.made.maxAttempts ?? Infinity)
  const ends = cancelled ? 'cancelled' : kind === 'failed' || over ? 'failed' : undefined
  if (ends) {
    const end = { state: ends, keepMs: kind === 'failed' && !cancelled ? outcome.keepMs : undefined } as const
    mark(ends)
    if (cancelled) endChain(world, job, { ...end, error: counts ? 'any' : undefined }, effects)
    else if (counts && outcome.stalled) endChain(world, job, { ...end, reason: 'stalled' }, effects)
    else endChain(world, job, { ...end, error }, effects)
  } else if (kind === 'completed') {
    mark('completed')
    endChain(world, job, { state: kind, result: outcome.result, keepMs: outcome.keepMs }, effects)
  } else if (kind === 'continued') {
    mark('completed')
    endJob(world, job, { state: 'completed' })
    if (job.index > 0) job.partExpiresAt = world.now + job.made.retention.completedMs
  } else if (kind === 'retry') {
    job.phase = outcome.stalled ? 'waiting' : 'failing'
    goBehind(world, job, outcome.stalled ? world.now : due(world, outcome))
    if (error) job.error = error
    mark(stateOf(world, job))
  } else if (kind === 'released') {
    job.phase = 'waiting'
    if (outcome.payload) job.payload = outcome.payload
    if (isSnooze) {
      if (!outcome.slowDown) job.snoozes++
      job.error = error
      goBehind(world, job, due(world, outcome))
    }
    mark(stateOf(world, job))
    if (outcome.slowDown === 'type') slowDown(world, flowOf(world, job.type), job.runAt)
    const { group } = job.made
    if (outcome.slowDown === 'group' && group) slowDown(world, flowOf(world, job.type, group.key), job.runAt)
  }

  function mark(state: ReturnType<typeof stateOf>): void {
    recordAttempt(world, job, { outcome: kind, state, error, token: 'chain' in outcome ? outcome.token : undefined })
    if ('chain' in outcome) job.label = undefined
  }
}

export function extend(
  world: World,
  leases: readonly Extension[],
  verdicts: readonly LeaseVerdict[] | undefined,
): void {
  if (verdicts) same('the number of verdicts of extend', verdicts.length, leases.length)
  for (const [index, lease] of leases.entries()) {
    const job = find(world, lease)
    const verdict = verdicts?.[index]
    if (!job || !holds(world, job, lease)) {
      if (verdict) refused(world, job, verdict.verdict, lease)
      continue
    }
    job.leaseUntil = world.now + lease.leaseMs
    keepReport(job, lease)
    if (!verdict) continue
    same('verdict', verdict.verdict, job.cancelling ? 'cancelling' : 'extended', lease)
    must('until' in verdict, () => 'extended without until')
    sameInstant(world, 'extended: until', verdict.until, job.leaseUntil, lease)
    if (verdict.verdict === 'cancelling') {
      must(job.cancelReasons.includes(verdict.reason), () => `cancelling for ${show(verdict.reason)}`)
    }
  }
}
