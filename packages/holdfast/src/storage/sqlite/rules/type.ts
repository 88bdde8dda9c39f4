// A type as a row: its pause, its flow, its counts, and its jobs that are in memory.

import type { Paused } from '../../storage.ts'
import type { Flow } from '../../rules/flow.ts'
import { stateNames } from '../../rules/job/codes.ts'
import type * as Moves from '../../rules/move.ts'
import type { Listeners } from '../../rules/signals.ts'
import type { SqliteJob } from './job.ts'

type StoredType = Pick<SqliteType, 'paused' | 'hasGroups' | 'flow'>

export class SqliteType implements Moves.JobType {
  readonly tid: number
  readonly name: string
  readonly listeners: Listeners
  #paused: Paused | undefined
  pauseChanged = false
  /** False: no group of it is stored, and none has to be looked up. */
  hasGroups: boolean
  /** No group in its ring has a turn before this instant. -Infinity: not known. */
  noTurnBefore = -Infinity
  /** No lease of its jobs ends before this instant. -Infinity: not known. */
  noLeaseEndBefore = -Infinity
  flow: Flow | undefined
  /** One of these two must be written. */
  flowChanged = false
  /** The stored counts, without `countChanges`. Undefined: not read yet. */
  counts: number[] | undefined
  /** What this transaction adds to the count of each state, by its code. */
  readonly countChanges = new Int32Array(stateNames.length)
  /** By id, as far as they are in memory. `null`: no job has the id. */
  readonly jobs = new Map<string, SqliteJob | null>()

  constructor(tid: number, name: string, listeners: Listeners, stored: StoredType) {
    this.tid = tid
    this.name = name
    this.listeners = listeners
    this.#paused = stored.paused
    this.hasGroups = stored.hasGroups
    this.flow = stored.flow
  }

  get paused(): Paused | undefined {
    return this.#paused
  }

  set paused(paused: Paused | undefined) {
    this.#paused = paused
    this.pauseChanged = true
  }
}

/** The name of a key, group or job across all types. */
export const nameOf = ({ tid }: SqliteType, key: string): string => `${tid}/${key}`

/** The pause in the columns paused_since and paused_by. */
export const pausedOf = (since: number | null, by: string | null): Paused | undefined =>
  since === null ? undefined : { since, by: by ?? undefined }
