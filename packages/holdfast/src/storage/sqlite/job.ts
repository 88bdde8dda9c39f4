// A job as a row. What belongs to other rows (its chain, group, key, dependents) is read when somebody asks.

import type { AttemptRecord, Bytes, EndReason, JobRef, JobState, NewJob, Retention } from '../storage.ts'
import type * as Moves from '../moves/move.ts'
import { refOf, rootOf } from '../moves/move.ts'
import { decodeMore, encodeMore, type KeyPart } from './more.ts'
import { stateCodes, stateNames } from './migrations.ts'
import type { Session } from './session.ts'
import type { SqliteType } from './type.ts'

/** Payloads above it stand in a table of their own. */
const inlineBytes = 1_024

export const jobColumns =
  'seq, tid, id, token, state, attempt, failures, max_attempts, priority, grp, keep_ms, created_at, run_at, ord, line, ' +
  'worker, label, started_at, lease_until, finished_at, by_holder, payload, result, error, chain, expires_at, sweep_at, more'

type Cell = number | string | Uint8Array | null
export type Row = Cell[]

export class SqliteJob implements Moves.Job {
  readonly #session: Session
  readonly type: SqliteType
  readonly id: string
  readonly token: string
  readonly priority: number
  readonly maxAttempts: number | undefined
  readonly retention: Retention
  readonly trace: string | undefined
  readonly createdAt: number
  readonly accepted: number
  state: JobState
  reason: EndReason | undefined
  attempt: number
  failures: number
  snoozes: number
  runAt: number
  order: number
  lease: Moves.Lease | undefined
  finishedAt: number | undefined
  cancelling: boolean
  cancelReason: string | undefined
  result: Bytes | undefined
  error: Bytes | undefined
  completedByHolder: boolean
  attempts: AttemptRecord[] | undefined
  readonly groupKey: string | undefined
  readonly chainIndex: number
  readonly origin: JobRef | undefined
  readonly root: JobRef | undefined
  blockers: Moves.Blocker[] | undefined
  openBlockers: number
  readonly onBlockerFailure: 'fail' | 'wait'
  expiresAt: number | undefined

  /** As the columns of these names. */
  readonly chainSeq: number | undefined
  tailSeq: number | undefined
  line: 0 | 1 | undefined
  leased: boolean
  sweepable: boolean
  keyPart: KeyPart | undefined
  dependentCount: number
  /** Bytes, or their number if they are elsewhere. */
  #payload: Bytes | number | undefined
  payloadChanged = false
  #mark: Moves.Mark | undefined
  #dependents: Moves.Dependents | undefined

  /** Columns that never change, for the insert. */
  fixed: readonly Cell[] = []
  /** What the session must write. */
  isNew = false
  isDirty = false
  isErased = false

  constructor(session: Session, type: SqliteType, row: Row) {
    const more = decodeMore(row[27] as string | null)
    this.#session = session
    this.type = type
    this.accepted = row[0] as number
    this.id = row[2] as string
    this.token = row[3] as string
    this.state = stateNames[row[4] as number]!
    this.attempt = row[5] as number
    this.failures = row[6] as number
    this.maxAttempts = optional(row[7] as number | null)
    this.priority = row[8] as number
    this.groupKey = optional(row[9] as string | null)
    this.retention = more.retention ?? keptFor(row[10] as number)
    this.createdAt = row[11] as number
    this.runAt = row[12] as number
    this.order = row[13] as number
    this.line = optional(row[14] as 0 | 1 | null)
    this.leased = row[18] !== null
    this.lease =
      row[15] === null
        ? undefined
        : {
            worker: row[15] as string,
            label: optional(row[16] as string | null),
            startedAt: row[17] as number,
            until: (row[18] as number | null) ?? 0,
          }
    this.finishedAt = optional(row[19] as number | null)
    this.completedByHolder = row[20] === 1
    this.#payload = optional(row[21] as Uint8Array | number | null)
    this.result = optional(row[22] as Uint8Array | null)
    this.error = optional(row[23] as Uint8Array | null)
    this.chainSeq = optional(row[24] as number | null)
    this.expiresAt = optional(row[25] as number | null)
    this.sweepable = row[26] !== null
    this.reason = more.reason
    this.snoozes = more.snoozes ?? 0
    this.trace = more.trace
    this.cancelling = more.cancelling ?? false
    this.cancelReason = more.cancelReason
    this.attempts = more.attempts
    this.chainIndex = more.chainIndex ?? 0
    this.tailSeq = more.tail
    this.origin = more.origin
    this.root = more.root
    this.blockers = more.blockers
    this.openBlockers = more.openBlockers ?? 0
    this.onBlockerFailure = more.onBlockerFailure ?? 'fail'
    this.keyPart = more.key
    this.dependentCount = more.dependents ?? 0
  }

  get payload(): Bytes | undefined {
    if (typeof this.#payload === 'number') this.#payload = this.#session.readPayload(this.accepted)
    return this.#payload
  }

  set payload(payload: Bytes | undefined) {
    this.#payload = payload
    this.payloadChanged = true
  }

  get chain(): SqliteJob {
    return this.chainSeq === undefined ? this : this.#session.jobOf(this.chainSeq)!
  }

  get tail(): SqliteJob {
    return this.tailSeq === undefined ? this : this.#session.jobOf(this.tailSeq)!
  }

  get group(): Moves.Group | undefined {
    return this.groupKey === undefined ? undefined : this.#session.groupOf(this.type, this.groupKey)
  }

  /** The key as it is held, if this chain still holds it; else as it was. */
  get mark(): Moves.Mark | undefined {
    const { chain } = this
    if (chain !== this) return chain.mark
    if (!this.keyPart) return undefined
    const { key, mode, shared, until } = this.keyPart
    const held = this.#session.markOf(this.type, key)
    if (held?.token === this.token && (held.shared || held.id === this.id)) return held
    this.#mark ??= { key, mode, shared, until, id: this.id, token: this.token, job: undefined }
    return this.#mark
  }

  set mark(mark: Moves.Mark | undefined) {
    this.keyPart = mark && { key: mark.key, mode: mark.mode, shared: mark.shared, until: mark.until }
  }

  get dependents(): Moves.Dependents | undefined {
    return this.dependentCount === 0 ? undefined : this.ownDependents
  }

  get ownDependents(): Moves.Dependents {
    this.#dependents ??= this.#session.dependentsOf(this)
    return this.#dependents
  }

  /** Of a change that its row must show. */
  get row(): readonly Cell[] {
    const { lease } = this
    return [
      stateCodes[this.state],
      this.attempt,
      this.failures,
      instant(this.runAt),
      this.order,
      this.line ?? null,
      lease?.worker ?? null,
      lease?.label ?? null,
      lease?.startedAt ?? null,
      this.leased ? instant(lease!.until) : null,
      this.finishedAt ?? null,
      this.completedByHolder ? 1 : null,
      this.result ?? null,
      this.error ?? null,
      finite(this.expiresAt),
      this.sweepable ? finite(this.expiresAt) : null,
      encodeMore(this),
    ]
  }

  /** It waits in line, and has not more than every job has. */
  get isPlainBegin(): boolean {
    if (this.line !== 1 || this.attempt > 0 || this.failures > 0 || this.groupKey !== undefined) return false
    const isTouched = this.lease ?? this.result ?? this.error ?? this.chainSeq ?? this.expiresAt ?? this.finishedAt
    return isTouched === undefined && !this.completedByHolder && encodeMore(this) === null
  }

  /** What its payload column holds. */
  get payloadCell(): Cell {
    const payload = this.#payload
    if (payload === undefined) return null
    return typeof payload === 'number' ? payload : payload.byteLength > inlineBytes ? payload.byteLength : payload
  }
}

/** The row that a new job begins as. */
export function newRow(
  fields: NewJob,
  tid: number,
  seq: number,
  now: number,
  runAt: number,
  after: SqliteJob | undefined,
  origin: SqliteJob | undefined,
): Row {
  const above = after ?? origin
  const { completedMs, failedMs, cancelledMs } = fields.retention
  const same = completedMs === failedMs && completedMs === cancelledMs
  const more = {
    retention: same ? undefined : fields.retention,
    trace: fields.trace,
    chainIndex: after ? after.chainIndex + 1 : undefined,
    origin: above && refOf(above),
    root: above && rootOf(above),
    onBlockerFailure: fields.onBlockerFailure,
  }
  const hasMore = !same || above || fields.trace !== undefined || fields.onBlockerFailure
  const row: Row = [seq, tid, fields.id, fields.token, stateCodes.blocked, 0, 0, fields.maxAttempts ?? null]
  row.push(
    fields.priority ?? 0,
    fields.group?.key ?? null,
    same ? (completedMs === Infinity ? -1 : instant(completedMs)) : null,
  )
  row.push(now, instant(runAt), seq, null, null, null, null, null, null, null)
  row.push(fields.payload ?? null, null, null, after ? after.chain.accepted : null, null, null)
  row.push(hasMore ? JSON.stringify(more) : null)
  return row
}

function keptFor(ms: number): Retention {
  const keepMs = ms === -1 ? Infinity : ms
  return { completedMs: keepMs, failedMs: keepMs, cancelledMs: keepMs }
}

const optional = <T>(cell: T | null): T | undefined => (cell === null ? undefined : cell)

const finite = (value: number | undefined): number | null =>
  value === undefined || value === Infinity ? null : instant(value)

/** As far as a number can be read back that was written as an integer. */
export const instant = (value: number): number => Math.min(value, Number.MAX_SAFE_INTEGER)
