// A job as a row, for SQLite and Postgres: its columns as fields. Its chain, group, key and dependents are other rows, which
// are looked up when the rules read them.

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
} from '../storage.ts'
import type { Blocker, Dependents, Group, Job, JobType, Lease, Mark, Membership } from '../rules/move.ts'
import { retentionOfCode } from '../retention.ts'
import type { KeyPart, More } from './more.ts'

/** The rows in memory. */
export interface Rows<Type extends JobType> {
  jobOf(seq: number): RowJob<Type> | undefined
  groupOf(type: Type, key: string): Group
  markOf(type: Type, key: string): Mark | undefined
  dependentsOf(chain: RowJob<Type>): Dependents
  /** Reads the payload of a job that has it in another table. Absent: no job has. */
  readPayload?(seq: number): Bytes
  /** Only where a record is read with its progress or log. */
  reportOf(job: RowJob<Type>): StoredReport | undefined
}

/** What the attempts of a job reported. It is stored apart from the job. */
export interface StoredReport {
  readonly progress: Bytes | undefined
  readonly log: Log | undefined
}

/** The fields that have a column of their own. */
export interface Columns {
  readonly accepted: number
  readonly id: string
  readonly token: string
  readonly priority: number
  readonly maxAttempts: number | undefined
  readonly groupKey: string | undefined
  /** The number of its retention (storage/retention.ts), unless `more` has the retention. */
  readonly keepMs: number
  readonly createdAt: number
  /** The first job of its chain, if that is another. */
  readonly chainSeq: number | undefined
  /** On the first job of a chain: the last one. */
  readonly tailSeq: number | undefined
  /** Bytes; or their number, if they are in another table. */
  readonly payload: Bytes | number | undefined
  readonly state: JobState
  readonly attempt: number
  readonly failures: number
  readonly runAt: number
  readonly order: number
  /** 1: ready. 0: aside. Undefined: it does not wait. */
  readonly ready: 0 | 1 | undefined
  /** The lease of its last attempt. */
  readonly lease: Lease | undefined
  /** True while that attempt is under way. */
  readonly leased: boolean
  readonly finishedAt: number | undefined
  readonly completedByHolder: boolean
  readonly result: Bytes | undefined
  readonly error: Bytes | undefined
  readonly attempts: AttemptRecord[] | undefined
  readonly dependentCount: number
  readonly expiresAt: number | undefined
  readonly sweepable: boolean
}

export class RowJob<Type extends JobType = JobType> implements Job {
  readonly #rows: Rows<Type>
  readonly type: Type
  readonly id: string
  readonly token: string
  readonly priority: number
  readonly maxAttempts: number | undefined
  readonly retention: Retention
  readonly trace: string | undefined
  readonly timeoutMs: number | undefined
  readonly search: SearchFields | undefined
  deadlineAt: number | undefined
  readonly createdAt: number
  readonly accepted: number
  state: JobState
  reason: EndReason | undefined
  attempt: number
  failures: number
  snoozes: number
  runAt: number
  order: number
  lease: Lease | undefined
  finishedAt: number | undefined
  cancelling: boolean
  cancelReason: string | undefined
  result: Bytes | undefined
  error: Bytes | undefined
  completedByHolder: boolean
  attempts: AttemptRecord[] | undefined
  readonly groupKey: string | undefined
  readonly membership: Membership | undefined
  readonly weight: number
  readonly chainIndex: number
  readonly origin: JobRef | undefined
  readonly root: JobRef | undefined
  blockers: Blocker[] | undefined
  openBlockers: number
  readonly onBlockerFailure: OnBlockerFailure
  expiresAt: number | undefined

  /** The first job of its chain, if that is another. */
  readonly chainSeq: number | undefined
  readonly chainRef: JobRef | undefined
  tailSeq: number | undefined
  ready: 0 | 1 | undefined
  leased: boolean
  sweepable: boolean
  keyPart: KeyPart | undefined
  dependentCount: number
  #payload: Bytes | number | undefined
  payloadChanged = false
  #mark: Mark | undefined
  #dependents: Dependents | undefined

  // What must be written.
  isNew = false
  isDirty = false
  isErased = false
  /** SQLite: the cells that were written last. Undefined: not since the job was read. */
  written: readonly unknown[] | undefined = undefined
  /** The transaction has locked its row, and may change it. */
  isLocked = true

  constructor(rows: Rows<Type>, type: Type, columns: Columns, more: More) {
    this.#rows = rows
    this.type = type
    this.id = columns.id
    this.token = columns.token
    this.priority = columns.priority
    this.maxAttempts = columns.maxAttempts
    this.retention = more.retention ?? retentionOfCode(columns.keepMs)
    this.trace = more.trace
    this.timeoutMs = more.timeoutMs
    this.search = more.search && Object.fromEntries(more.search)
    this.deadlineAt = more.deadlineAt
    this.createdAt = columns.createdAt
    this.accepted = columns.accepted
    this.state = columns.state
    this.reason = more.reason
    this.attempt = columns.attempt
    this.failures = columns.failures
    this.snoozes = more.snoozes ?? 0
    this.runAt = columns.runAt
    this.order = columns.order
    this.lease = columns.lease
    this.finishedAt = columns.finishedAt
    this.cancelling = more.cancelling ?? false
    this.cancelReason = more.cancelReason
    this.result = columns.result
    this.error = columns.error
    this.completedByHolder = columns.completedByHolder
    this.attempts = columns.attempts
    this.groupKey = columns.groupKey
    this.membership = columns.groupKey === undefined ? undefined : (more.membership ?? 'ordered')
    this.weight = more.weight ?? 1
    this.chainIndex = more.chainIndex ?? 0
    this.origin = more.origin
    this.root = more.root
    this.blockers = more.blockers
    this.openBlockers = more.openBlockers ?? 0
    this.onBlockerFailure = more.onBlockerFailure ?? 'fail'
    this.expiresAt = columns.expiresAt
    this.chainSeq = columns.chainSeq
    this.chainRef = more.chain
    this.tailSeq = columns.tailSeq
    this.ready = columns.ready
    this.leased = columns.leased
    this.sweepable = columns.sweepable
    this.keyPart = more.key
    this.dependentCount = columns.dependentCount
    this.#payload = columns.payload
  }

  get payload(): Bytes | undefined {
    if (typeof this.#payload === 'number') this.#payload = this.#rows.readPayload!(this.accepted)
    return this.#payload
  }

  set payload(payload: Bytes | undefined) {
    this.#payload = payload
    this.payloadChanged = true
  }

  /** The number of bytes, without reading them. */
  get payloadBytes(): number {
    return typeof this.#payload === 'number' ? this.#payload : (this.#payload?.byteLength ?? 0)
  }

  get progress(): Bytes | undefined {
    return this.#rows.reportOf(this)?.progress
  }

  get log(): Log | undefined {
    return this.#rows.reportOf(this)?.log
  }

  get chain(): RowJob<Type> {
    return this.chainSeq === undefined ? this : this.#rows.jobOf(this.chainSeq)!
  }

  get tail(): RowJob<Type> {
    return this.tailSeq === undefined ? this : this.#rows.jobOf(this.tailSeq)!
  }

  get group(): Group | undefined {
    return this.groupKey === undefined ? undefined : this.#rows.groupOf(this.type, this.groupKey)
  }

  /** The key that this chain holds, or held before. */
  get mark(): Mark | undefined {
    const { chain } = this
    if (chain !== this) return chain.mark
    if (!this.keyPart) return undefined
    const { key, mode, shared, until } = this.keyPart
    const held = this.#rows.markOf(this.type, key)
    if (held?.token === this.token && (held.shared || held.id === this.id)) return held
    const { id, token } = this
    this.#mark ??= { key, mode, shared, until, id, token, replacedBy: undefined, version: undefined, job: undefined }
    return this.#mark
  }

  set mark(mark: Mark | undefined) {
    this.keyPart = mark && { key: mark.key, mode: mark.mode, shared: mark.shared, until: mark.until }
  }

  get dependents(): Dependents | undefined {
    return this.dependentCount === 0 ? undefined : this.ownDependents
  }

  get ownDependents(): Dependents {
    this.#dependents ??= this.#rows.dependentsOf(this)
    return this.#dependents
  }
}
