// An ordered group as a row: which of its jobs runs, which stands in line for it, and whether it is paused.

import type { Paused } from '../../storage.ts'
import type * as Moves from '../../rules/move.ts'
import type { SqliteJob } from './job.ts'
import type { Session } from './session.ts'
import type { SqliteType } from './type.ts'

export class SqliteGroup implements Moves.Group {
  readonly #session: Session
  readonly type: SqliteType
  readonly key: string
  runningSeq: number | undefined
  placedSeq: number | undefined
  paused: Paused | undefined

  constructor(
    session: Session,
    type: SqliteType,
    key: string,
    running: number | undefined,
    placed: number | undefined,
    paused: Paused | undefined,
  ) {
    this.#session = session
    this.type = type
    this.key = key
    this.runningSeq = running
    this.placedSeq = placed
    this.paused = paused
  }

  get running(): SqliteJob | undefined {
    return this.runningSeq === undefined ? undefined : this.#session.jobOf(this.runningSeq)
  }

  set running(job: SqliteJob | undefined) {
    this.runningSeq = job?.accepted
  }

  get placed(): SqliteJob | undefined {
    return this.placedSeq === undefined ? undefined : this.#session.jobOf(this.placedSeq)
  }

  set placed(job: SqliteJob | undefined) {
    this.placedSeq = job?.accepted
  }
}
