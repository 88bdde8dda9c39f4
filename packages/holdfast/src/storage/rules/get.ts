// get: records at one instant, with the parts that were asked for.

import type { JobRecord, JobRef, JobState, KeyRef, Log, RecordPart } from '../storage.ts'
import { attemptsOf } from './job/attempt.ts'
import { expiryOf } from './job/finish.ts'
import { isInForce } from './job/key.ts'
import { find, isGone, type Job, type Move, refOf, rootOf } from './move.ts'

export function get(
  move: Move,
  refs: readonly (JobRef | KeyRef)[],
  parts: readonly RecordPart[],
): (JobRecord | undefined)[] {
  return refs.map((ref) => {
    const job = 'key' in ref ? holderOf(move, ref) : find(move, ref)
    return job && recordOf(move, job, parts)
  })
}

/** Undefined also if only the window of the key is left, and the record is gone. */
function holderOf(move: Move, { type: name, key }: KeyRef): Job | undefined {
  const type = move.typeOf(name)
  const mark = type && move.markOf(type, key)
  if (!mark?.job || !isInForce(move, mark) || isGone(move, mark.job)) return undefined
  return mark.job
}

export function recordOf(move: Move, job: Job, parts: readonly RecordPart[]): JobRecord {
  const { chain } = job
  const running = job.state === 'processing'
  const asked = (part: RecordPart): boolean => parts.includes(part)
  return {
    ...refOf(job),
    token: job.token,
    state: stateOf(move, job),
    reason: job.reason,
    attempt: job.attempt,
    failures: job.failures,
    snoozes: job.snoozes,
    maxAttempts: job.maxAttempts,
    timeoutMs: job.timeoutMs,
    deadlineAt: job.deadlineAt,
    search: job.search,
    priority: job.priority,
    group: job.group?.key,
    weight: job.weight === 1 ? undefined : job.weight,
    deduplicationKey: chain.mark?.key,
    retention: job.retention,
    trace: job.trace,
    createdAt: job.createdAt,
    runAt: job.runAt,
    startedAt: job.lease?.startedAt,
    finishedAt: job.finishedAt,
    expiresAt: expiryOf(job),
    label: job.lease?.label,
    worker: running ? job.lease!.worker : undefined,
    leaseUntil: running ? job.lease!.until : undefined,
    cancelling: running && job.cancelling,
    cancelReason: job.cancelReason,
    chain: refOf(chain),
    chainIndex: job.chainIndex,
    root: rootOf(job),
    origin: job.origin,
    openBlockers: job.openBlockers,
    payload: asked('payload') ? job.payload : undefined,
    result: asked('result') ? job.result : undefined,
    error: asked('error') ? job.error : undefined,
    attempts: asked('attempts') ? attemptsOf(job) : undefined,
    progress: asked('progress') ? job.progress : undefined,
    log: asked('log') ? (job.log ?? noLog) : undefined,
    blockers: asked('blockers') ? (job.blockers?.map(({ ref }) => ref) ?? []) : undefined,
    tail:
      asked('tail') && job === chain
        ? recordOf(
            move,
            chain.tail,
            parts.filter((part) => part !== 'tail'),
          )
        : undefined,
  }
}

const noLog: Log = { lines: [], dropped: 0 }

/** A scheduled job reads as queued from its runAt on. No process moves it. */
export function stateOf(move: Move, { state, runAt }: Job): JobState {
  return state === 'scheduled' && runAt <= move.now ? 'queued' : state
}
