// Compares the storage with the reference: records, counts, the next due instant, lists.

import type {
  Counts,
  JobRecord,
  JobRef,
  JobState,
  ListQuery,
  NewJob,
  SearchRange,
  TypeCounts,
  Where,
} from 'holdfast/storage'
import {
  expiryOf,
  find,
  isGone,
  isEnded,
  isSame,
  isWaiting,
  type Job,
  must,
  openBlockers,
  plain,
  same,
  sameBytes,
  sameInstant,
  sameRef,
  show,
  stateOf,
  tailOf,
  type World,
} from '../reference.ts'
import { compareUse } from './compare-limits.ts'

/** Also copies the instants that the storage chose within the slack. */
export function compareRecord(world: World, ref: JobRef, record: JobRecord | undefined): void {
  const job = find(world, ref)
  if (!job || !record) {
    if (job) throw new Error(`${show(ref)} is gone, expected ${stateOf(world, job)}`)
    if (record) throw new Error(`${show(ref)} is ${record.state}, expected to be gone`)
    return
  }
  compareFields(world, job, record)
  compareLife(world, job, record)
  compareAttempts(world, job, record)
  const tail = job.index === 0 ? tailOf(world, job) : undefined
  sameRef('tail', record.tail, tail, job)
  same('state of the tail', record.tail?.state, tail && stateOf(world, tail), job)
  sameBytes('result of the tail', record.tail?.result, tail?.result, job)
}

/** Fields that never change, or only by an explicit call. */
function compareFields(world: World, job: Job, record: JobRecord): void {
  const { made } = job
  same('token', record.token, made.token, job)
  same('maxAttempts', record.maxAttempts, made.maxAttempts, job)
  same('priority', record.priority, made.priority ?? 0, job)
  same('group', record.group, made.group?.key, job)
  same('weight', record.weight ?? 1, made.weight ?? 1, job)
  same('trace', record.trace, made.trace, job)
  same('timeoutMs', record.timeoutMs, made.timeoutMs, job)
  same('search', show(record.search && { ...record.search }), show(made.search), job)
  if (job.index === 0) same('deduplicationKey', record.deduplicationKey, made.deduplication?.key, job)
  same('retention.completedMs', record.retention.completedMs, made.retention.completedMs, job)
  same('retention.failedMs', record.retention.failedMs, made.retention.failedMs, job)
  same('retention.cancelledMs', record.retention.cancelledMs, made.retention.cancelledMs, job)
  job.createdAt = sameInstant(world, 'createdAt', record.createdAt, job.createdAt, job)
  sameRef('chain', record.chain, job.chain, job)
  same('chainIndex', record.chainIndex, job.index, job)
  sameRef('root', record.root, job.root, job)
  sameRef('origin', record.origin, job.origin, job)
  sameBytes('payload', record.payload, job.payload, job)
  const { blockers = [] } = record
  same('number of blockers', blockers.length, job.blockers.length, job)
  for (const [index, { ref }] of job.blockers.entries()) sameRef('blocker', blockers[index], ref, job)
}

function compareLife(world: World, job: Job, record: JobRecord): void {
  const ended = isEnded(job)
  same('state', record.state, stateOf(world, job), job)
  same('reason', record.reason, job.reason, job)
  same('attempt', record.attempt, job.attempt, job)
  same('failures', record.failures, job.failures, job)
  same('snoozes', record.snoozes, job.snoozes, job)
  job.runAt = sameInstant(world, 'runAt', record.runAt, job.runAt, job)
  if (ended) job.finishedAt = sameInstant(world, 'finishedAt', record.finishedAt, job.finishedAt, job)
  else same('finishedAt', record.finishedAt, undefined, job)
  const { chain } = job
  if (ended && chain.keepMs !== undefined && tailOf(world, chain) === job)
    chain.expiresAt = job.finishedAt + chain.keepMs
  if (job.partExpiresAt !== Infinity) job.partExpiresAt = job.finishedAt + job.made.retention.completedMs
  const expiry = expiryOf(world, job)
  if (expiry === undefined) same('expiresAt', record.expiresAt, undefined, job)
  else {
    const at = sameInstant(world, 'expiresAt', record.expiresAt, expiry, job)
    if (expiry === job.partExpiresAt) job.partExpiresAt = at
    else chain.expiresAt = at
  }
  if (job.phase === 'processing') {
    same('worker', record.worker, job.worker, job)
    same('label', record.label, job.label, job)
    job.startedAt = sameInstant(world, 'startedAt', record.startedAt, job.startedAt, job)
    job.leaseUntil = sameInstant(world, 'leaseUntil', record.leaseUntil, job.leaseUntil, job)
  }
  same('cancelling', record.cancelling ?? false, job.phase === 'processing' && job.cancelling, job)
  if (job.cancelReasons.length === 0) same('cancelReason', record.cancelReason, undefined, job)
  else if (job.phase === 'cancelled') {
    const known = job.cancelReasons.includes(record.cancelReason)
    must(known, () => `cancelReason of ${show(plain(job))}: ${show(record.cancelReason)}`)
  }
  if (!ended) same('openBlockers', record.openBlockers, openBlockers(job), job)
  sameBytes('result', record.result, job.result, job)
  if (job.error !== 'any') sameBytes('error', record.error, job.error, job)
  if (job.deadlineAt === Infinity) same('deadlineAt', record.deadlineAt, undefined, job)
  else job.deadlineAt = sameInstant(world, 'deadlineAt', record.deadlineAt, job.deadlineAt, job)
  sameBytes('progress', record.progress, job.progress, job)
  const lines = record.log!.lines.map(({ attempt, at, line }) => ({ attempt, at, line: new Uint8Array(line) }))
  same('log', show(lines), show(job.log), job)
}

function compareAttempts(world: World, job: Job, record: JobRecord): void {
  const expected = job.attempts.filter(({ workerless }) => !workerless)
  const actual = (record.attempts ?? []).filter(({ worker }) => expected.some((attempt) => attempt.worker === worker))
  same('number of attempts', actual.length, expected.length, job)
  for (const [index, attempt] of expected.entries()) {
    const entry = actual[index]!
    same('attempts: worker', entry.worker, attempt.worker, job)
    same('attempts: attempt', entry.attempt, attempt.attempt, job)
    same('attempts: label', entry.label, attempt.label, job)
    same('attempts: outcome', entry.outcome, attempt.outcome, job)
    same('attempts: state', entry.state, attempt.state, job)
    same('attempts: startedAt', entry.startedAt, attempt.startedAt, job)
    attempt.endedAt = sameInstant(world, 'attempts: endedAt', entry.endedAt, attempt.endedAt, job)
    sameBytes('attempts: error', entry.error, attempt.error, job)
  }
}

const states = ['scheduled', 'blocked', 'queued', 'processing', 'failing', 'completed', 'failed', 'cancelled'] as const

export function compareCounts(world: World, types: readonly string[], counts: Counts): void {
  same('the number of types counted', counts.types.length, types.length)
  for (const [index, type] of types.entries()) compareType(world, type, counts.types[index]!)
}

function compareType(world: World, type: string, counts: TypeCounts): void {
  const of = { type, id: '*' }
  same('type counted', counts.type, type)
  const expected = Object.fromEntries(states.map((state) => [state, 0])) as Record<JobState, number>
  let [ready, lost, delayed, oldest] = [0, 0, 0, Infinity]
  for (const job of world.jobs.values()) {
    if (job.type !== type || isGone(world, job)) continue
    expected[stateOf(world, job)]++
    if (job.phase === 'processing' && job.leaseUntil <= world.now) lost++
    if (!isWaiting(job)) continue
    if (job.runAt > world.now) delayed++
    else {
      ready++
      oldest = Math.min(oldest, job.runAt)
    }
  }
  for (const state of states)
    if (counts.states[state] !== expected[state]) same(`count ${state}`, counts.states[state], expected[state], of)
  same('count due', counts.due, ready + lost, of)
  same('count delayed', counts.delayed, delayed, of)
  same('oldestDueAt', counts.oldestDueAt, oldest === Infinity ? undefined : oldest, of)
  const pause = world.paused.get(type)
  same('paused', counts.paused === undefined, pause === undefined, of)
  if (pause) {
    pause.since = sameInstant(world, 'paused since', counts.paused!.since, pause.since, of)
    same('paused by', counts.paused!.by, pause.by, of)
  }
  const groups = [...world.pausedGroups.values()].filter((group) => group.type === type)
  same('number of paused groups', counts.pausedGroups.length, groups.length, of)
  for (const group of groups) {
    const entry = counts.pausedGroups.find((other) => other.group === group.group)
    group.since = sameInstant(world, 'group paused since', entry?.since, group.since, of)
    same('group paused by', entry?.by, group.by, of)
  }
  compareUse(world, type, counts)
}

/** The few kinds of conditions that the model asks for. */
function isFound(fields: NewJob['search'], where: Where): boolean {
  return Object.entries(where).every(([name, wanted]) => {
    const value = fields?.[name]
    if (value === undefined) return false
    return typeof wanted === 'object' ? value >= (wanted as SearchRange).gte! : value === wanted
  })
}

const compareText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)

/** The jobs that a list must have, in order. */
export function listed(world: World, query: ListQuery): JobRef[] {
  const found = [...world.jobs.values()].filter((job) => {
    if (!find(world, job) || (query.of === 'chains' && job.index > 0)) return false
    if (query.types && !query.types.includes(job.type)) return false
    if (query.chain && !isSame(query.chain, job.chain)) return false
    if (query.rootOnly && !isSame(job.root, job.chain)) return false
    if (query.group !== undefined && job.made.group?.key !== query.group) return false
    if (query.where && !isFound(job.made.search, query.where)) return false
    if (query.createdFrom !== undefined && job.createdAt < query.createdFrom) return false
    if (query.createdTo !== undefined && job.createdAt >= query.createdTo) return false
    return !query.states || query.states.includes(stateOf(world, query.of === 'chains' ? tailOf(world, job) : job))
  })
  const sign = query.order === 'asc' ? 1 : -1
  found.sort((a, b) => sign * (a.createdAt - b.createdAt || compareText(a.type, b.type) || compareText(a.id, b.id)))
  return found.map(plain)
}
