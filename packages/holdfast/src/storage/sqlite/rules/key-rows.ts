// The deduplication keys of a working set. A key is written when it changes, and read at most once per transaction.

import { markOn } from '../../rows/mark.ts'
import type * as Moves from '../../rules/move.ts'
import type { DeduplicationMode } from '../../storage.ts'
import type { Statements } from '../connection/statements.ts'
import { instant } from './job.ts'
import type { JobRows } from './job-rows.ts'
import { nameOf, type SqliteType } from './type.ts'

type KeyRow = [
  id: string,
  token: string,
  mode: DeduplicationMode,
  shared: number,
  until: number | null,
  replacedBy: string | null,
  version: number | null,
]

export class KeyRows {
  readonly #statements: Statements
  readonly #jobs: JobRows
  /** `null`: the key is free. */
  readonly #marks = new Map<string, Moves.Mark | null>()

  constructor(statements: Statements, jobs: JobRows) {
    this.#statements = statements
    this.#jobs = jobs
  }

  find(type: SqliteType, key: string): Moves.Mark | undefined {
    const name = nameOf(type, key)
    const known = this.#marks.get(name)
    if (known !== undefined) return known ?? undefined
    const row = this.#statements.key.get(type.tid, key) as unknown as KeyRow | undefined
    if (!row) {
      this.#marks.set(name, null)
      return undefined
    }
    const [id, token, mode, shared, until, replacedBy, version] = row
    return this.#keep(type, {
      key,
      id,
      token,
      mode,
      shared: shared === 1,
      until: until ?? Infinity,
      replacedBy: replacedBy ?? undefined,
      version: version ?? undefined,
    })
  }

  hold(type: SqliteType, fields: Moves.MarkFields): Moves.Mark {
    const { key, id, token, mode, shared, until, replacedBy = null, version = null } = fields
    const untilCell = until === Infinity ? null : instant(until)
    this.#statements.setKey.run(type.tid, key, id, token, mode, shared ? 1 : 0, untilCell, replacedBy, version)
    return this.#keep(type, fields)
  }

  drop(type: SqliteType, key: string): void {
    this.#statements.eraseKey.run(type.tid, key)
    this.#marks.set(nameOf(type, key), null)
  }

  /** Deletes keys whose window is over. Returns how many. */
  sweep(now: number, limit: number): number {
    this.#marks.clear()
    return Number(this.#statements.sweepKeys.run(now, limit).changes)
  }

  hasOverdue(now: number): boolean {
    return this.#statements.overdueKey.get(now) !== undefined
  }

  forget(): void {
    this.#marks.clear()
  }

  #keep(type: SqliteType, fields: Moves.MarkFields): Moves.Mark {
    const mark = markOn(this.#jobs, type, fields)
    this.#marks.set(nameOf(type, fields.key), mark)
    return mark
  }
}
