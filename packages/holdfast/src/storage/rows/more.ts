// The fields that few jobs have, as JSON in one column. So the row of a plain job is small, and fast to read and write.

import type { AttemptRecord, EndReason, JobRef, OnBlockerFailure, Retention, SearchValue } from '../storage.ts'
import type { Blocker, Mark, Membership } from '../rules/move.ts'
import { retentionCode } from '../retention.ts'
import type { RowJob } from './job.ts'

export type KeyPart = Pick<Mark, 'key' | 'mode' | 'shared' | 'until'>

interface Always {
  readonly reason?: EndReason
  readonly snoozes?: number
  readonly trace?: string
  readonly timeoutMs?: number
  readonly deadlineAt?: number
  /** As pairs: the names of fields must not be taken for those of this object. */
  readonly search?: [name: string, value: SearchValue][]
  readonly retention?: Retention
  readonly cancelling?: boolean
  readonly cancelReason?: string
  readonly chainIndex?: number
  readonly origin?: JobRef
  readonly root?: JobRef
  readonly blockers?: Blocker[]
  readonly openBlockers?: number
  readonly onBlockerFailure?: OnBlockerFailure
  readonly key?: KeyPart
  /** Absent, of a job with a group: `ordered`, as all groups once were. */
  readonly membership?: Membership
  readonly weight?: number
}

/** Fields for which one of the drivers has a column, or no use. */
interface Sometimes {
  readonly attempts?: AttemptRecord[]
  /** The first job of its chain, if that is another. */
  readonly chain?: JobRef
  /** On the first job of a chain: the seq of the last one. */
  readonly tail?: number
  readonly dependents?: number
}

export type More = Always & Sometimes

const nothing: More = {}

export function decodeMore(text: string | null): More {
  return text === null ? nothing : (JSON.parse(text, revive) as More)
}

/** JSON escapes the characters that Postgres cannot store in text. */
export function encodeMore(job: RowJob, more: Sometimes): string | null {
  if (isPlain(job)) return null
  const all: More = {
    reason: job.reason,
    snoozes: job.snoozes || undefined,
    trace: job.trace,
    timeoutMs: job.timeoutMs,
    deadlineAt: job.deadlineAt,
    search: job.search && Object.entries(job.search),
    retention: retentionCode(job.retention) === undefined ? job.retention : undefined,
    cancelling: job.cancelling || undefined,
    cancelReason: job.cancelReason,
    chainIndex: job.chainIndex || undefined,
    origin: job.origin,
    root: job.root,
    blockers: job.blockers,
    openBlockers: job.openBlockers || undefined,
    onBlockerFailure: job.onBlockerFailure === 'fail' ? undefined : job.onBlockerFailure,
    key: job.keyPart,
    membership: job.membership === 'ordered' ? undefined : job.membership,
    weight: job.weight === 1 ? undefined : job.weight,
    ...more,
  }
  const text = JSON.stringify(all, replace)
  return text === '{}' ? null : text
}

function isPlain(job: RowJob): boolean {
  return (
    job.reason === undefined &&
    job.snoozes === 0 &&
    job.trace === undefined &&
    job.timeoutMs === undefined &&
    job.deadlineAt === undefined &&
    job.search === undefined &&
    retentionCode(job.retention) !== undefined &&
    !job.cancelling &&
    job.cancelReason === undefined &&
    job.attempts === undefined &&
    job.tailSeq === undefined &&
    job.origin === undefined &&
    job.blockers === undefined &&
    job.onBlockerFailure === 'fail' &&
    job.keyPart === undefined &&
    (job.membership === undefined || job.membership === 'ordered') &&
    job.weight === 1 &&
    job.dependentCount === 0
  )
}

// JSON has neither bytes nor Infinity. Only the errors of attempts are bytes here, and only times can be infinite.
function revive(key: string, value: unknown): unknown {
  if (key === 'error') return Buffer.from(value as string, 'base64')
  return value === null && (key === 'until' || key === 'deadlineAt' || key.endsWith('Ms')) ? Infinity : value
}

function replace(this: unknown, key: string, value: unknown): unknown {
  if (key !== 'error' || value === undefined) return value
  return Buffer.from((this as { error: Uint8Array }).error).toString('base64')
}
