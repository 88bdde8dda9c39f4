// What few jobs have, as JSON in one column: a plain job's row stays small, and quick to read and write.

import type { EndReason, JobRef, Retention } from '../storage.ts'
import type { Blocker, Mark } from '../moves/move.ts'
import type { PostgresJob } from './job.ts'

export type KeyPart = Pick<Mark, 'key' | 'mode' | 'shared' | 'until'>

export interface More {
  readonly reason?: EndReason
  readonly snoozes?: number
  readonly trace?: string
  readonly retention?: Retention
  readonly cancelling?: boolean
  readonly cancelReason?: string
  readonly chainIndex?: number
  /** The first job of its chain, if that is another. */
  readonly chain?: JobRef
  readonly origin?: JobRef
  readonly root?: JobRef
  readonly blockers?: Blocker[]
  readonly openBlockers?: number
  readonly onBlockerFailure?: 'fail' | 'wait'
  readonly key?: KeyPart
}

const nothing: More = {}

export function decodeMore(text: string | null): More {
  return text === null ? nothing : (JSON.parse(text, revive) as More)
}

// JSON knows no Infinity. Only times can be endless.
function revive(key: string, value: unknown): unknown {
  return value === null && (key === 'until' || key.endsWith('Ms')) ? Infinity : value
}

/** JSON writes what Postgres cannot hold as escapes. */
export function encodeMore(job: PostgresJob): string | null {
  const { completedMs, failedMs, cancelledMs } = job.retention
  const more: More = {
    reason: job.reason,
    snoozes: job.snoozes || undefined,
    trace: job.trace,
    retention: completedMs === failedMs && completedMs === cancelledMs ? undefined : job.retention,
    cancelling: job.cancelling || undefined,
    cancelReason: job.cancelReason,
    chainIndex: job.chainIndex || undefined,
    chain: job.chainRef,
    origin: job.origin,
    root: job.root,
    blockers: job.blockers,
    openBlockers: job.openBlockers || undefined,
    onBlockerFailure: job.onBlockerFailure === 'wait' ? 'wait' : undefined,
    key: job.keyPart,
  }
  const text = JSON.stringify(more)
  return text === '{}' ? null : text
}
