// An ordered group as a row: which of its jobs runs, which one may be claimed next, and whether the group is paused.

import type { Paused } from '../../storage.ts'
import type * as Moves from '../../rules/move.ts'
import { decodeOptionalText, numberOf } from '../sql/text.ts'
import type { PostgresJob } from './job.ts'
import type { PostgresType } from './type-registry.ts'
import type { WorkingSet } from './working-set.ts'

export type GroupRow = readonly (string | null)[]

export class PostgresGroup implements Moves.Group {
  readonly #set: WorkingSet
  readonly type: PostgresType
  readonly key: string
  runningSeq: number | undefined
  placedSeq: number | undefined
  paused: Paused | undefined
  readonly isNew: boolean
  /** What to do with its row at the end of the call. */
  fate: 'none' | 'kept' | 'erased' = 'none'

  /** @param row running, placed, paused_since, paused_by */
  constructor(set: WorkingSet, type: PostgresType, key: string, row: GroupRow | null) {
    this.#set = set
    this.type = type
    this.key = key
    this.isNew = row === null
    const [running, placed, since, by] = row ?? [null, null, null, null]
    this.runningSeq = numberOf(running!)
    this.placedSeq = numberOf(placed!)
    this.paused = pausedOf(since!, by!)
  }

  get running(): PostgresJob | undefined {
    return this.runningSeq === undefined ? undefined : this.#set.jobOf(this.runningSeq)
  }

  set running(job: PostgresJob | undefined) {
    this.runningSeq = job?.accepted
  }

  get placed(): PostgresJob | undefined {
    return this.placedSeq === undefined ? undefined : this.#set.jobOf(this.placedSeq)
  }

  set placed(job: PostgresJob | undefined) {
    this.placedSeq = job?.accepted
  }
}

export const pausedOf = (since: string | null, by: string | null): Paused | undefined =>
  since === null ? undefined : { since: Number(since), by: decodeOptionalText(by) }
