// The record of a job as plain data, without the objects that it refers to: as a commit contains it, and as the undo of a
// call restores it.

import type { MemoryJob, Mark } from '../../memory/data.ts'
import { markFieldsOf } from '../../rules/job/key.ts'
import type { Lease, MarkFields, Membership } from '../../rules/move.ts'
import type {
  AttemptRecord,
  Bytes,
  EndReason,
  JobRef,
  JobState,
  Log,
  OnBlockerFailure,
  Retention,
  SearchFields,
} from '../../storage.ts'

/** The fields that never change. */
export interface FixedPart extends JobRef {
  readonly token: string
  readonly number: number
  readonly createdAt: number
  readonly priority: number
  readonly maxAttempts: number | undefined
  readonly retention: Retention
  readonly trace: string | undefined
  readonly timeoutMs: number | undefined
  readonly search: SearchFields | undefined
  readonly group: string | undefined
  readonly membership: Membership | undefined
  readonly weight: number
  /** Of a continuation: the first job of its chain. */
  readonly chain: JobRef | undefined
  readonly chainIndex: number
  readonly origin: JobRef | undefined
  readonly root: JobRef | undefined
  readonly onBlockerFailure: OnBlockerFailure
}

export interface BlockerPart {
  readonly ref: JobRef
  readonly done: boolean
  /** The chain is kept for this job. */
  readonly held: boolean
}

interface MarkPart extends MarkFields {
  /** True if the job holds the key, false if it held it before. */
  readonly held: boolean
  /** True if the key refers to this job. */
  readonly own: boolean
}

/** The fields that change. */
export interface ChangingPart {
  readonly state: JobState
  readonly deadlineAt: number | undefined
  readonly runAt: number
  readonly order: number
  readonly attempt: number
  readonly failures: number
  readonly snoozes: number
  readonly reason: EndReason | undefined
  readonly lease: Lease | undefined
  readonly finishedAt: number | undefined
  readonly cancelling: boolean
  readonly cancelReason: string | undefined
  readonly payload: Bytes | undefined
  readonly result: Bytes | undefined
  readonly error: Bytes | undefined
  readonly completedByHolder: boolean
  readonly attempts: AttemptRecord[] | undefined
  readonly progress: Bytes | undefined
  readonly log: Log | undefined
  readonly blockers: readonly BlockerPart[] | undefined
  readonly openBlockers: number
  readonly expiresAt: number | undefined
  readonly mark: MarkPart | undefined
}

/** The fields that a job and its record have in common. */
export const plainFields = [
  'runAt',
  'order',
  'attempt',
  'failures',
  'snoozes',
  'reason',
  'lease',
  'finishedAt',
  'cancelling',
  'cancelReason',
  'payload',
  'result',
  'error',
  'completedByHolder',
  'attempts',
  'progress',
  'log',
  'openBlockers',
  'expiresAt',
] as const satisfies readonly (keyof ChangingPart & keyof MemoryJob)[]

export function fixedPartOf(job: MemoryJob): FixedPart {
  return {
    type: job.type.name,
    id: job.id,
    token: job.token,
    number: job.accepted,
    createdAt: job.createdAt,
    priority: job.priority,
    maxAttempts: job.maxAttempts,
    retention: job.retention,
    trace: job.trace,
    timeoutMs: job.timeoutMs,
    search: job.search,
    group: job.group?.key,
    membership: job.membership,
    weight: job.weight,
    chain: job.chain === job ? undefined : { type: job.chain.type.name, id: job.chain.id },
    chainIndex: job.chainIndex,
    origin: job.origin,
    root: job.root,
    onBlockerFailure: job.onBlockerFailure,
  }
}

/** @param stored returns the job of a name */
export function changingPartOf(job: MemoryJob, stored: (ref: JobRef) => MemoryJob | undefined): ChangingPart {
  return {
    state: job.state,
    deadlineAt: job.deadlineAt,
    runAt: job.runAt,
    order: job.order,
    attempt: job.attempt,
    failures: job.failures,
    snoozes: job.snoozes,
    reason: job.reason,
    lease: job.lease,
    finishedAt: job.finishedAt,
    cancelling: job.cancelling,
    cancelReason: job.cancelReason,
    payload: job.payload,
    result: job.result,
    error: job.error,
    completedByHolder: job.completedByHolder,
    attempts: job.attempts,
    progress: job.progress,
    log: job.log,
    blockers: job.blockers?.map(({ ref, done }) => ({
      ref,
      done,
      held: stored(ref)?.dependents?.has(job) === true,
    })),
    openBlockers: job.openBlockers,
    expiresAt: job.expiresAt,
    mark: job.mark && markPartOf(job, job.mark),
  }
}

function markPartOf(job: MemoryJob, mark: Mark): MarkPart {
  return { ...markFieldsOf(mark), held: job.type.keys.get(mark.key) === mark, own: mark.job === job }
}
