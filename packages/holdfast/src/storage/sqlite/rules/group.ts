// An ordered group as a row: the job that runs, the head while it is ready, and the pause.

import type { Paused } from '../../storage.ts'
import type * as Moves from '../../rules/move.ts'
import type { SqliteJob } from './job.ts'
import type { JobRows } from './job-rows.ts'
import type { SqliteType } from './type.ts'

export class SqliteGroup implements Moves.Group {
  readonly #jobs: JobRows
  readonly type: SqliteType
  readonly key: string
  runningSeq: number | undefined
  placedSeq: number | undefined
  paused: Paused | undefined

  constructor(
    jobs: JobRows,
    type: SqliteType,
    key: string,
    running: number | undefined,
    placed: number | undefined,
    paused: Paused | undefined,
  ) {
    this.#jobs = jobs
    this.type = type
    this.key = key
    this.runningSeq = running
    this.placedSeq = placed
    this.paused = paused
  }

  get running(): SqliteJob | undefined {
    return this.runningSeq === undefined ? undefined : this.#jobs.bySeq(this.runningSeq)
  }

  set running(job: SqliteJob | undefined) {
    this.runningSeq = job?.accepted
  }

  get placed(): SqliteJob | undefined {
    return this.placedSeq === undefined ? undefined : this.#jobs.bySeq(this.placedSeq)
  }

  set placed(job: SqliteJob | undefined) {
    this.placedSeq = job?.accepted
  }
}
