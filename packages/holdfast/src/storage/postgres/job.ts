// A job as a row. What belongs to other rows (its chain, group, key, dependents) is taken from the working set when
// somebody asks.
// Longer than others: thirty columns, each read, kept and written.

import type { AttemptRecord, Bytes, EndReason, JobRef, JobState, NewJob, Retention } from '../storage.ts'
import type * as Moves from '../moves/move.ts'
import { refOf, rootOf } from '../moves/move.ts'
import type { Value } from './database.ts'
import { decodeAttempts, encodeAttempts } from './attempts.ts'
import { decodeMore, encodeMore, type KeyPart } from './more.ts'
import { stateCodes, stateNames } from './migrations.ts'
import { bytesOf, bytesText, decodeText, encodeText, numberOf, optionalText } from './text.ts'
import type { PostgresType } from './types.ts'
import type { WorkingSet } from './working-set.ts'

/** The columns of a job with their types, in the order of a row. */
export const jobColumns = {
  seq: 'bigint',
  tid: 'integer',
  id: 'text',
  token: 'text',
  priority: 'smallint',
  max_attempts: 'double precision',
  grp: 'text',
  keep_ms: 'double precision',
  created_at: 'double precision',
  chain: 'bigint',
  under: 'boolean',
  payload: 'bytea',
  state: 'smallint',
  kind: 'smallint',
  attempt: 'integer',
  failures: 'integer',
  run_at: 'double precision',
  ord: 'bigint',
  line: 'smallint',
  worker: 'text',
  label: 'text',
  started_at: 'double precision',
  lease_until: 'double precision',
  finished_at: 'double precision',
  by_holder: 'boolean',
  result: 'bytea',
  error: 'bytea',
  tail: 'bigint',
  dependents: 'integer',
  expires_at: 'double precision',
  sweep_at: 'double precision',
  more: 'text',
  attempts: 'text',
} as const

/** Where its kind is in a row. */
export const kindIndex = Object.keys(jobColumns).indexOf('kind')

/** From here on they change. */
export const firstChanging = 12

export type JobRow = readonly (string | null)[]

/** Numbers from here on are not yet those of the sequence: write.ts gives each its own. */
export const firstProvisional = 2 ** 52

export class PostgresJob implements Moves.Job {
  readonly #set: WorkingSet
  readonly type: PostgresType
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

  /** The first job of its chain, if that is another. */
  readonly chainRef: JobRef | undefined
  /** As the columns of these names. */
  readonly chainSeq: number | undefined
  tailSeq: number | undefined
  line: 0 | 1 | undefined
  leased: boolean
  sweepable: boolean
  keyPart: KeyPart | undefined
  dependentCount: number
  readonly #row: JobRow
  #payload: Bytes | undefined
  payloadChanged = false
  #mark: Moves.Mark | undefined

  /** Its row is locked: it may be changed. */
  readonly isLocked: boolean
  readonly isNew: boolean
  isDirty = false
  isErased = false

  constructor(set: WorkingSet, type: PostgresType, row: JobRow, { isLocked = true, isNew = false } = {}) {
    const more = decodeMore(row[31]!)
    this.#set = set
    this.#row = row
    this.isLocked = isLocked
    this.isNew = isNew
    this.type = type
    this.accepted = Number(row[0])
    this.id = decodeText(row[2]!)
    this.token = decodeText(row[3]!)
    this.priority = Number(row[4])
    this.maxAttempts = numberOf(row[5]!)
    this.groupKey = optional(row[6]!)
    this.retention = more.retention ?? keptFor(Number(row[7]))
    this.createdAt = Number(row[8])
    this.chainSeq = numberOf(row[9]!)
    this.#payload = bytesOf(row[11]!)
    this.state = stateNames[Number(row[12])]!
    this.attempt = Number(row[14])
    this.failures = Number(row[15])
    this.runAt = Number(row[16])
    this.order = Number(row[17])
    this.line = numberOf(row[18]!) as 0 | 1 | undefined
    this.leased = row[22] !== null
    this.lease =
      row[19] === null
        ? undefined
        : {
            worker: decodeText(row[19]!),
            label: optional(row[20]!),
            startedAt: Number(row[21]),
            until: Number(row[22] ?? 0),
          }
    this.finishedAt = numberOf(row[23]!)
    this.completedByHolder = row[24] === 'true'
    this.result = bytesOf(row[25]!)
    this.error = bytesOf(row[26]!)
    this.tailSeq = numberOf(row[27]!)
    this.dependentCount = Number(row[28] ?? 0)
    this.expiresAt = numberOf(row[29]!)
    this.sweepable = row[30] !== null
    this.reason = more.reason
    this.snoozes = more.snoozes ?? 0
    this.trace = more.trace
    this.cancelling = more.cancelling ?? false
    this.cancelReason = more.cancelReason
    this.attempts = decodeAttempts(row[32]!)
    this.chainIndex = more.chainIndex ?? 0
    this.chainRef = more.chain
    this.origin = more.origin
    this.root = more.root
    this.blockers = more.blockers
    this.openBlockers = more.openBlockers ?? 0
    this.onBlockerFailure = more.onBlockerFailure ?? 'fail'
    this.keyPart = more.key
  }

  get payload(): Bytes | undefined {
    return this.#payload
  }

  set payload(payload: Bytes | undefined) {
    this.#payload = payload
    this.payloadChanged = true
  }

  get chain(): PostgresJob {
    return this.chainSeq === undefined ? this : this.#set.jobOf(this.chainSeq)!
  }

  get tail(): PostgresJob {
    return this.tailSeq === undefined ? this : this.#set.jobOf(this.tailSeq)!
  }

  get group(): Moves.Group | undefined {
    return this.groupKey === undefined ? undefined : this.#set.groupOf(this.type, this.groupKey)
  }

  /** The key as it is held, if this chain still holds it; else as it was. */
  get mark(): Moves.Mark | undefined {
    const { chain } = this
    if (chain !== this) return chain.mark
    if (!this.keyPart) return undefined
    const { key, mode, shared, until } = this.keyPart
    const held = this.#set.reads ? undefined : this.#set.markOf(this.type, key)
    if (held?.token === this.token && (held.shared || held.id === this.id)) return held
    this.#mark ??= { key, mode, shared, until, id: this.id, token: this.token, job: undefined }
    return this.#mark
  }

  set mark(mark: Moves.Mark | undefined) {
    this.keyPart = mark && { key: mark.key, mode: mark.mode, shared: mark.shared, until: mark.until }
  }

  get dependents(): Moves.Dependents | undefined {
    return this.dependentCount === 0 ? undefined : this.#set.dependentsOf(this)
  }

  /** Which of the short ways may take it (migrations.ts). */
  get #kind(): number {
    const isLinked = this.chainSeq ?? this.tailSeq ?? this.groupKey ?? this.blockers
    if (isLinked !== undefined || this.dependentCount > 0) return 2
    return this.keyPart || this.cancelling ? 1 : 0
  }

  /** Its columns as they are to be written. @param real the number in the sequence of one that was given out */
  cells(real: (number: number) => number): Value[] {
    const { lease } = this
    const given = (number: number | undefined): Value => (number === undefined ? null : real(number))
    const fixed = this.#row.slice(0, firstChanging) as Value[]
    fixed[0] = real(this.accepted)
    fixed[9] = given(this.chainSeq)
    fixed[11] = this.isNew || this.payloadChanged ? bytesText(this.#payload) : null
    return [
      ...fixed,
      stateCodes[this.state],
      this.#kind,
      this.attempt,
      this.failures,
      this.runAt,
      real(this.order),
      this.line ?? null,
      optionalText(lease?.worker),
      optionalText(lease?.label),
      lease?.startedAt ?? null,
      this.leased ? lease!.until : null,
      this.finishedAt ?? null,
      this.completedByHolder ? 'true' : null,
      bytesText(this.result),
      bytesText(this.error),
      given(this.tailSeq),
      this.dependentCount || null,
      finite(this.expiresAt),
      this.sweepable ? finite(this.expiresAt) : null,
      encodeMore(this),
      encodeAttempts(this.attempts),
    ]
  }
}

/** The row that a new job begins as. */
export function newRow(
  fields: NewJob,
  tid: number,
  seq: number,
  now: number,
  runAt: number,
  after: PostgresJob | undefined,
  origin: PostgresJob | undefined,
): JobRow {
  const above = after ?? origin
  const root = above && rootOf(above)
  const chain = after && refOf(after.chain)
  const { completedMs, failedMs, cancelledMs } = fields.retention
  const same = completedMs === failedMs && completedMs === cancelledMs
  const more = {
    retention: same ? undefined : fields.retention,
    trace: fields.trace,
    chainIndex: after ? after.chainIndex + 1 : undefined,
    chain,
    origin: above && refOf(above),
    root,
    onBlockerFailure: fields.onBlockerFailure,
  }
  const isUnder = root !== undefined && (root.id !== chain?.id || root.type !== chain?.type)
  const row: (string | null)[] = [String(seq), String(tid), encodeText(fields.id), encodeText(fields.token)]
  row.push(text(fields.priority ?? 0), text(fields.maxAttempts), optionalText(fields.group?.key))
  row.push(text(completedMs), text(now), text(after?.chain.accepted), isUnder ? 'true' : null)
  row.push(fields.payload === undefined ? null : bytesText(fields.payload)!.slice(2))
  row.push(text(stateCodes.blocked), '0', '0', '0', text(runAt), text(seq), null)
  row.push(null, null, null, null, null, null, null, null, null, null, null, null)
  row.push(JSON.stringify(more), null)
  return row
}

const text = (value: number | undefined): string | null => (value === undefined ? null : String(value))

function keptFor(keepMs: number): Retention {
  return { completedMs: keepMs, failedMs: keepMs, cancelledMs: keepMs }
}

const optional = (cell: string | null): string | undefined => (cell === null ? undefined : decodeText(cell))

const finite = (value: number | undefined): number | null => (value === undefined || value === Infinity ? null : value)
