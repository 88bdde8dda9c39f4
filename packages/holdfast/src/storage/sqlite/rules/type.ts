// A type as a row: its pause, and what the transaction under way adds to its counts.

import type { Paused } from '../../storage.ts'
import type * as Moves from '../../rules/move.ts'
import type { Listeners } from '../../rules/signals.ts'
import type { SqliteJob } from './job.ts'

export class SqliteType implements Moves.JobType {
  readonly tid: number
  readonly name: string
  readonly listeners: Listeners
  #paused: Paused | undefined
  pauseChanged = false
  /** What this transaction adds to the count of each state. */
  readonly moved = new Int32Array(8)
  /** By id, as far as they are at hand. `null`: there is none. */
  readonly jobs = new Map<string, SqliteJob | null>()

  constructor(tid: number, name: string, listeners: Listeners, paused: Paused | undefined) {
    this.tid = tid
    this.name = name
    this.listeners = listeners
    this.#paused = paused
  }

  get paused(): Paused | undefined {
    return this.#paused
  }

  set paused(paused: Paused | undefined) {
    this.#paused = paused
    this.pauseChanged = true
  }
}
