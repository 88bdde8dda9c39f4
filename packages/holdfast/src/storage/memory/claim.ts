// claim: settle what came along, take back lost leases, then give out due jobs, the types in turns.

import {
  type Claim,
  type ClaimedJob,
  type ClaimRequest,
  type ClaimType,
  type Ended,
  type Recovered,
} from '../storage.ts'
import { type Job, type Lease, refOf, type TypeData } from './data.ts'
import { endedOf, finish } from './finish.ts'
import type { Move } from './move.ts'
import { takeBack } from './recover.ts'
import { settle } from './settle.ts'
import { promote, setState, stand, stopWaiting } from './waiting.ts'

/** Lost leases taken back in one call, at most, per type. */
const recoverLimit = 1_000

export function claim(move: Move, request: ClaimRequest): Claim {
  const { worker, label } = request
  const settled = request.outcomes ? settle(move, request.outcomes) : []
  const recovered: Recovered[] = []
  const ended: Ended[] = []
  const jobs: ClaimedJob[] = []
  const turns: Turn[] = []
  for (const wanted of request.types) {
    const type = move.data.types.get(wanted.type)
    if (!type || type.paused) continue
    promote(type, move.now)
    takeBackLost(move, type, wanted, recovered, ended)
    const lease = { worker, label, startedAt: move.now, until: move.now + wanted.leaseMs }
    turns.push({ type, wanted, lease, left: Math.min(wanted.slots ?? Infinity, request.slots) })
  }
  for (let index = 0; turns.length > 0 && jobs.length < request.slots;) {
    if (index >= turns.length) index = 0
    const turn = turns[index]!
    const job = turn.left > 0 ? nextOf(move, turn, ended) : undefined
    if (job) {
      jobs.push(give(move, job, turn.lease))
      turn.left--
      index++
    } else {
      turns.splice(index, 1)
    }
  }
  return { jobs, recovered, ended, settled }
}

interface Turn {
  readonly type: TypeData
  readonly wanted: ClaimType
  readonly lease: Lease
  left: number
}

function takeBackLost(move: Move, type: TypeData, wanted: ClaimType, recovered: Recovered[], ended: Ended[]): void {
  for (let count = 0; count < recoverLimit; count++) {
    const job = type.leases.peek()
    if (!job || job.leaseUntil > move.now) return
    recovered.push(takeBack(move, job, ended, wanted.maxAttempts))
  }
}

/** The next in line that has an attempt left; those that have none end here. */
function nextOf(move: Move, { type, wanted }: Turn, ended: Ended[]): Job | undefined {
  for (;;) {
    let job: Job | undefined
    for (const { jobs } of type.ready) if ((job = jobs.peek())) break
    if (!job || job.failures < (job.maxAttempts ?? wanted.maxAttempts ?? Infinity)) return job
    const after = { ended, unblocked: [] }
    finish(move, job, { state: 'failed', reason: 'stalled' }, after)
    ended.push(endedOf(job))
  }
}

function give(move: Move, job: Job, lease: Lease): ClaimedJob {
  stopWaiting(job)
  setState(job, 'processing')
  job.attempt++
  job.lease = lease
  stand(job, job.type.leases)
  if (job.group) job.group.running = job
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
    priority: job.priority,
    group: job.group?.key,
    retention: job.retention,
    trace: job.trace,
    createdAt: job.createdAt,
    runAt: job.runAt,
    startedAt: lease.startedAt,
    leaseUntil: lease.until,
    chain,
    chainIndex: job.chainIndex,
    root: job.above ? job.root : chain,
    origin: job.origin,
    blockers: job.blockers ? job.blockers.map(({ ref }) => ({ ...ref, result: move.find(ref)?.tail.result })) : none,
  }
}

const none: ClaimedJob['blockers'] = []
