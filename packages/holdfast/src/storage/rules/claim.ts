// claim: settles the outcomes of the request, takes back lost leases, then leases due jobs, one of each type in turn. turns.ts
// chooses the jobs of a type that has groups or limits. Nothing of such a type is claimed ahead (job/ahead.ts).

import {
  type Claim,
  type ClaimedJob,
  type ClaimRequest,
  type ClaimType,
  type Ended,
  type Recovered,
} from '../storage.ts'
import { isAhead, needsSlot } from './job/ahead.ts'
import { endOverdue, isOverdue } from './job/deadline.ts'
import { endedOf, finish } from './job/finish.ts'
import { find, type Job, type JobType, type Lease, type Move, refOf } from './move.ts'
import { takeBack } from './recover.ts'
import { settle } from './settle.ts'
import { Turns } from './turns.ts'

/** Largest number of lost leases that one call takes back, per type. */
const recoverLimit = 1_000

export function claim(move: Move, request: ClaimRequest): Claim {
  const { worker, label } = request
  const settled = request.outcomes ? settle(move, request.outcomes) : []
  const recovered: Recovered[] = []
  const ended: Ended[] = []
  const jobs: ClaimedJob[] = []
  const open: OpenType[] = []
  for (const wanted of request.types) {
    const type = move.typeOf(wanted.type)
    if (!type || type.paused) continue
    takeBackLost(move, type, wanted, recovered, ended)
    const lease = { worker, label, startedAt: move.now, until: move.now + wanted.leaseMs }
    open.push({ type, wanted, lease, left: Math.min(wanted.slots ?? Infinity, request.slots), turns: undefined })
  }
  // After all leases: a job that was taken back may have given a group its turn.
  const limited = open.filter((next) => hasTurns(move, next))
  const ahead = isAhead(worker)
  if (ahead) for (const next of limited.splice(0)) next.left = 0
  for (const next of limited) next.turns = new Turns(move, next.type, next.wanted)
  for (let index = 0; open.length > 0 && jobs.length < request.slots;) {
    if (index >= open.length) index = 0
    const next = open[index]!
    const job =
      next.left > 0 ? (nextOf(move, next, ended) ?? nextOfLateGroup(move, next, ended, limited, ahead)) : undefined
    // What is behind a job that needs a slot waits with it.
    if (job && !(ahead && needsSlot(job))) {
      jobs.push(leaseTo(move, job, next.lease))
      next.turns?.started(job)
      next.left--
      index++
    } else {
      open.splice(index, 1)
    }
  }
  for (const { turns } of limited) turns!.end()
  return { jobs, recovered, ended, settled }
}

/** A type that may have more due jobs. */
interface OpenType {
  readonly type: JobType
  readonly wanted: ClaimType
  readonly lease: Lease
  left: number
  /** Undefined: only its line has jobs, and no limit applies. */
  turns: Turns | undefined
}

/** One check per type and call: nearly every type has neither limits nor groups. */
const hasTurns = (move: Move, { type, wanted }: OpenType): boolean =>
  wanted.limits !== undefined || move.flowOf(type) !== undefined || move.nextTurn(type) !== undefined

function takeBackLost(move: Move, type: JobType, wanted: ClaimType, recovered: Recovered[], ended: Ended[]): void {
  for (let count = 0; count < recoverLimit; count++) {
    const job = move.nextLost(type)
    if (!job) return
    recovered.push(takeBack(move, job, ended, wanted.maxAttempts))
  }
}

/** The next job that has an attempt left, and is in time. Others end here, and take nothing of a limit. */
function nextOf(move: Move, { type, wanted, turns }: OpenType, ended: Ended[]): Job | undefined {
  for (;;) {
    // The job stays first until its end here, or its lease, removes it.
    const job = turns ? turns.next() : move.nextReady(type)
    if (!job) return undefined
    if (isOverdue(move, job)) {
      endOverdue(move, job, ended)
      continue
    }
    if (job.failures < (job.maxAttempts ?? wanted.maxAttempts ?? Infinity)) {
      // A rate may have no room for it: then another group may have a turn.
      if (!turns || turns.admits(job)) return job
      continue
    }
    finish(move, job, { state: 'failed', reason: 'stalled' }, { ended, unblocked: [] })
    ended.push(endedOf(job))
  }
}

/** A job that ended in this call may have given a group its turn, in a type that had none. */
function nextOfLateGroup(
  move: Move,
  next: OpenType,
  ended: Ended[],
  limited: OpenType[],
  ahead: boolean,
): Job | undefined {
  if (ahead || next.turns || !move.nextTurn(next.type)) return undefined
  next.turns = new Turns(move, next.type, next.wanted)
  limited.push(next)
  return nextOf(move, next, ended)
}

function leaseTo(move: Move, job: Job, lease: Lease): ClaimedJob {
  job.attempt++
  job.lease = lease
  if (job.deadlineAt !== undefined) job.deadlineAt = undefined
  move.setState(job, 'processing')
  move.place(job, 'leases')
  move.event(job, 'processing', job.failures + 1)
  const chain = refOf(job.chain)
  return {
    type: job.type.name,
    id: job.id,
    worker: lease.worker,
    attempt: job.attempt,
    token: job.token,
    payload: job.payload,
    failures: job.failures,
    snoozes: job.snoozes,
    maxAttempts: job.maxAttempts,
    timeoutMs: job.timeoutMs,
    priority: job.priority,
    group: job.group?.key,
    weight: job.weight === 1 ? undefined : job.weight,
    retention: job.retention,
    trace: job.trace,
    createdAt: job.createdAt,
    runAt: job.runAt,
    startedAt: lease.startedAt,
    leaseUntil: lease.until,
    error: job.error,
    chain,
    chainIndex: job.chainIndex,
    root: job.root ?? chain,
    origin: job.origin,
    blockers: job.blockers ? job.blockers.map(({ ref }) => ({ ...ref, result: find(move, ref)?.tail.result })) : none,
  }
}

const none: ClaimedJob['blockers'] = []
