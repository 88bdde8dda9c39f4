// claim and recover in the reference: checks that the jobs which the driver claimed or took back were legal choices.

import type { Claim, ClaimedJob, ClaimRequest, ClaimType, Recovered, RecoverRequest } from 'holdfast/storage'
import {
  find,
  isOverdue,
  isSame,
  type Job,
  must,
  plain,
  same,
  sameBytes,
  sameInstant,
  sameRef,
  type Seen,
  show,
  stateOf,
  tailOf,
  type World,
} from '../reference.ts'
import { type Effects, endChain, endOverdue, noEffects, sameEnded, takeBack } from './end.ts'
import { isAhead, mayRefuse, needsSlot } from './ahead.ts'
import { countRunning, flowOf, isFree, mayWaitFor, start, weightOf } from './limits.ts'
import { settle } from './settle.ts'
import {
  firstJobs,
  isBestOfAll,
  loseTurns,
  mayStart,
  observe,
  type Participant,
  participants,
  waitForRates,
} from './turns.ts'

interface Turn {
  readonly wanted: ClaimType
  left: number
}

/** @param answer undefined: the reply was lost */
export function claim(world: World, request: ClaimRequest, answer: Claim | undefined, seen: Seen): void {
  settle(world, request.outcomes ?? [], answer?.settled, seen)
  const effects = noEffects()
  takeBackLost(world, request, answer, seen, effects)
  const given = new Map<string, ClaimedJob[]>()
  for (const job of answer?.jobs ?? []) given.set(job.type, [...(given.get(job.type) ?? []), job])
  const types = request.types.map(({ type }) => type)
  observe(world, types)

  const room = { left: request.slots }
  effects.unblocked.length = 0
  let turns = request.types
    .filter(({ type }) => !world.paused.has(type))
    .map((wanted): Turn => ({ wanted, left: Math.min(wanted.slots ?? request.slots, roomOf(world, wanted)) }))
  const all = turns
  while (room.left > 0 && turns.length > 0) {
    turns = turns.filter((turn) => {
      if (room.left === 0 || turn.left <= 0) return false
      const job = next(world, turn, request, answer && (given.get(turn.wanted.type) ?? []), seen, effects)
      if (!job) return false
      observe(world, types)
      turn.left--
      room.left--
      return true
    })
  }
  // A job that an end of this claim unblocked may be claimed after the others, or later.
  for (const turn of all) {
    const { wanted } = turn
    for (const job of effects.unblocked.filter((one) => one.type === wanted.type && one.phase === 'waiting')) {
      const taken = isTaken(job, request, answer && (given.get(job.type) ?? []), seen)
      if (!taken || !isStartable(world, job)) continue
      must(
        room.left-- > 0 && turn.left-- > 0,
        () => `claimed more than ${request.slots} jobs, or than the limits allow`,
      )
      take(world, job, wanted, request, given.get(job.type))
    }
  }
  // All slots are filled; these jobs were met on the way.
  for (const { wanted } of all) {
    for (const job of firstJobs(world, wanted.type)) {
      if (isOver(world, job, wanted) && !isShownWaiting(job, seen)) endSpent(world, job, effects)
    }
  }
  for (const [type, rest] of given)
    must(rest.length === 0, () => `claimed too many jobs of ${show(type)}: ${show(rest)}`)
  if (answer) sameEnded(answer.ended, effects.ended)
  // Without the answer, or without turns, the order of the starts is not known.
  const isUnordered = (type: string): boolean => !answer || isUnfair(world, type)
  loseTurns(world, types.filter(isUnordered))
}

/** Starts that the concurrency of the type allows. */
const roomOf = (world: World, { type }: ClaimType): number =>
  (world.limits.get(type)?.concurrency ?? Infinity) - countRunning(world, type)

const isUnfair = (world: World, type: string): boolean => world.limits.get(type)?.group?.fair === false

/** Whether the job may be claimed, wherever it is among the jobs of its group that have no order. */
function isStartable(world: World, job: Job): boolean {
  const others = [...world.jobs.values()].filter((other) => other !== job)
  return participants(world, job.type, others).some(({ best }) => best.includes(job))
}

/** Takes back as many leases as there are slots; those of a paused type are the driver's choice. */
function takeBackLost(
  world: World,
  request: ClaimRequest,
  answer: Claim | undefined,
  seen: Seen,
  effects: Effects,
): void {
  const left: Job[] = []
  let taken = 0
  const reported: Recovered[] = []
  for (const { type, maxAttempts } of request.types) {
    for (const job of world.jobs.values()) {
      if (job.type !== type || job.phase !== 'processing' || job.leaseUntil > world.now) continue
      const entry = answer?.recovered.find((item) => isSame(item, job))
      if (answer ? entry : !isHeldStill(job, seen)) {
        if (entry) sameLease(job, entry)
        takeBack(world, job, effects, maxAttempts)
        if (entry) same('recovered: state', entry.state, stateOf(world, job), job)
        if (entry) reported.push(entry)
        if (!world.paused.has(type)) taken++
      } else {
        left.push(job)
      }
    }
  }
  const illegal = answer?.recovered.find((entry) => !reported.includes(entry))
  must(illegal === undefined, () => `took back the lease of ${show(illegal)}, which was not lost`)
  const due = left.filter((job) => !world.paused.has(job.type))
  must(due.length === 0 || taken >= request.slots, () => `lost leases were left: ${show(due.map(plain))}`)
}

function isHeldStill(job: Job, seen: Seen): boolean {
  const record = seen(job)
  return record?.state === 'processing' && record.worker === job.worker && record.attempt === job.attempt
}

/** The job that this turn yields; jobs without attempts left end on the way. */
function next(
  world: World,
  { wanted }: Turn,
  request: ClaimRequest,
  given: ClaimedJob[] | undefined,
  seen: Seen,
  effects: Effects,
): Job | undefined {
  const { type } = wanted
  for (;;) {
    waitForRates(world, type)
    const unblocked = effects.unblocked.find((one) => one.type === type && isTaken(one, request, given, seen))
    if (unblocked && isStartable(world, unblocked)) {
      take(world, unblocked, wanted, request, given)
      return unblocked
    }
    const open = participants(world, type, effects.unblocked)
    const first = given?.[0]
    const isFair = (one: Participant): boolean => !given || isUnfair(world, type) || mayStart(world, type, one, open)
    const best = open.filter(isFair).flatMap((one) => [...one.best])
    const isBest = (one: Job): boolean => !given || !isUnfair(world, type) || isBestOfAll(one, open)
    const job = best.find((one) => isTaken(one, request, given, seen) && isBest(one))
    // Of a group that a job holds which is gone and not swept, the driver need not look at any job.
    const sure = open.filter(({ isSure }) => isSure)
    const allSpent = sure.flatMap((one) => one.best.filter((each) => isOver(world, each, wanted)))
    // One that ended was met at some point of the call. What its end unblocked may be claimed from then on.
    const shown = firstJobs(world, type).find((one) => isOver(world, one, wanted) && !isShownWaiting(one, seen))
    const unblockedToo = effects.unblocked.filter((one) => one.type === type && one.phase === 'waiting')
    const met = [...open.flatMap((one) => [...one.best]), ...unblockedToo]
    const ahead = isAhead(request.worker)
    const isHeldBack = ahead && (mayRefuse(world, type) || best.some(needsSlot))
    const isStopped = first === undefined && (isHeldBack || mayWait(world, type, met))
    const spent = shown ?? (isStopped ? undefined : allSpent[0])
    if (spent && (shown || !job || isOver(world, job, wanted))) {
      endSpent(world, spent, effects)
      continue
    }
    if (!job) {
      must(
        isStopped || (first === undefined && sure.length === 0),
        () => `${show(best.map(plain))} was expected to be claimed, got ${show(first && plain(first))}`,
      )
      return undefined
    }
    must(
      !ahead || !(needsSlot(job) || job.made.group || world.limits.has(type)),
      () => `${show(plain(job))} was claimed ahead, and needs a free slot`,
    )
    take(world, job, wanted, request, given)
    return job
  }
}

/** Whether the rate of the type may have no room for the job whose turn it is. Then nothing overtakes it. */
function mayWait(world: World, type: string, jobs: readonly Job[]): boolean {
  const flow = flowOf(world, type)
  const rate = world.limits.get(type)?.rate
  const isWaited = jobs.some((job) => !isFree(world, flow, rate, weightOf(job)).surely)
  mayWaitFor(world, flow, rate, jobs)
  return isWaited
}

/** Leases the job that the driver claimed next, or, if the answer was lost, that it holds now. */
function take(world: World, job: Job, wanted: ClaimType, request: ClaimRequest, given: ClaimedJob[] | undefined): void {
  lease(world, job, wanted, request)
  if (given) sameClaimed(world, job, given.shift()!)
}

const isTaken = (job: Job, request: ClaimRequest, given: ClaimedJob[] | undefined, seen: Seen): boolean =>
  given ? given[0] !== undefined && isSame(job, given[0]) : isHeldBy(job, request, seen)

const isSpent = (job: Job, { maxAttempts = Infinity }: ClaimType): boolean =>
  job.failures >= (job.made.maxAttempts ?? maxAttempts)

/** No attempt is left, or the first one did not begin in time. */
const isOver = (world: World, job: Job, wanted: ClaimType): boolean => isOverdue(world, job) || isSpent(job, wanted)

function endSpent(world: World, job: Job, effects: Effects): void {
  if (isOverdue(world, job)) return endOverdue(world, job, effects)
  effects.ended.push(job)
  endChain(world, job, { state: 'failed', reason: 'stalled' }, effects)
}

/** Whether the record still shows a waiting job. */
const isShownWaiting = (job: Job, seen: Seen): boolean => ['queued', 'failing'].includes(seen(job)?.state ?? '')
const isHeldBy = (job: Job, { worker }: ClaimRequest, seen: Seen): boolean => seen(job)?.worker === worker

function lease(world: World, job: Job, { leaseMs }: ClaimType, { worker, label }: ClaimRequest): void {
  job.phase = 'processing'
  job.attempt++
  job.worker = worker
  job.label = label
  job.startedAt = world.now
  job.leaseUntil = world.now + leaseMs
  job.deadlineAt = Infinity
  start(world, job)
}

function sameClaimed(world: World, job: Job, claimed: ClaimedJob): void {
  const { made } = job
  sameLease(job, claimed)
  same('claimed: token', claimed.token, made.token, job)
  sameBytes('claimed: payload', claimed.payload, job.payload, job)
  same('claimed: failures', claimed.failures, job.failures, job)
  same('claimed: snoozes', claimed.snoozes, job.snoozes, job)
  same('claimed: maxAttempts', claimed.maxAttempts, made.maxAttempts, job)
  same('claimed: priority', claimed.priority, made.priority ?? 0, job)
  same('claimed: group', claimed.group, made.group?.key, job)
  same('claimed: weight', claimed.weight ?? 1, made.weight ?? 1, job)
  same('claimed: trace', claimed.trace, made.trace, job)
  same('claimed: timeoutMs', claimed.timeoutMs, made.timeoutMs, job)
  same('claimed: retention', claimed.retention.completedMs, made.retention.completedMs, job)
  sameInstant(world, 'claimed: createdAt', claimed.createdAt, job.createdAt, job)
  sameInstant(world, 'claimed: runAt', claimed.runAt, job.runAt, job)
  sameInstant(world, 'claimed: startedAt', claimed.startedAt, job.startedAt, job)
  sameInstant(world, 'claimed: leaseUntil', claimed.leaseUntil, job.leaseUntil, job)
  sameRef('claimed: chain', claimed.chain, job.chain, job)
  same('claimed: chainIndex', claimed.chainIndex, job.index, job)
  sameRef('claimed: root', claimed.root, job.root, job)
  sameRef('claimed: origin', claimed.origin, job.origin, job)
  same('claimed: number of blockers', claimed.blockers.length, job.blockers.length, job)
  for (const [index, { ref }] of job.blockers.entries()) {
    const blocker = find(world, ref)
    sameRef('claimed: blocker', claimed.blockers[index], ref, job)
    const result = blocker && tailOf(world, blocker).result
    sameBytes('claimed: result of a blocker', claimed.blockers[index]!.result, result, job)
  }
}

function sameLease(job: Job, { worker, attempt }: { worker: string; attempt: number }): void {
  same('worker', worker, job.worker, job)
  same('attempt', attempt, job.attempt, job)
}

export function recover(
  world: World,
  request: RecoverRequest,
  answer: readonly Recovered[] | undefined,
  seen: Seen,
): void {
  const tooLong = (job: Job): boolean => world.now - job.startedAt > (request.olderThanMs ?? Infinity)
  const open = [...world.jobs.values()].filter(
    (job) =>
      job.phase === 'processing' && request.types.includes(job.type) && (job.leaseUntil <= world.now || tooLong(job)),
  )
  const taken = open.filter((job) => (answer ? answer.some((entry) => isSame(entry, job)) : !isHeldStill(job, seen)))
  same('the number of leases taken back', answer?.length ?? taken.length, Math.min(open.length, request.limit))
  same('the number of leases that may be taken back', taken.length, Math.min(open.length, request.limit))
  for (const job of taken) {
    const entry = answer?.find((item) => isSame(item, job))
    if (entry) sameLease(job, entry)
    if (entry) same('recovered: label', entry.label, job.label, job)
    takeBack(world, job, noEffects())
    if (entry) same('recovered: state', entry.state, stateOf(world, job), job)
  }
}
