// The ordered groups of a working set. A group is read at most once per transaction, and written whenever it changes.

import type { Statements } from '../connection/statements.ts'
import { newGroup, type SqliteGroup } from './group.ts'
import type { SqliteJob } from './job.ts'
import type { JobRows } from './job-rows.ts'
import { nameOf, pausedOf, type SqliteType } from './type.ts'

type GroupRow = [running: number | null, placed: number | null, pausedSince: number | null, pausedBy: string | null]

const noRow: GroupRow = [null, null, null, null]

export class GroupRows {
  readonly #statements: Statements
  readonly #jobs: JobRows
  readonly #groups = new Map<string, SqliteGroup>()

  constructor(statements: Statements, jobs: JobRows) {
    this.#statements = statements
    this.#jobs = jobs
  }

  of(type: SqliteType, key: string): SqliteGroup {
    const name = nameOf(type, key)
    let group = this.#groups.get(name)
    if (!group) {
      const row = this.#statements.group.get(type.tid, key) as unknown as GroupRow | undefined
      const [, , since, by] = row ?? noRow
      group = newGroup(type, key, pausedOf(since, by))
      this.#groups.set(name, group)
    }
    return group
  }

  /** The first live job, by the order of acceptance. */
  headOf({ type, key }: SqliteGroup): SqliteJob | undefined {
    this.#jobs.flush()
    return this.#jobs.ofRows(this.#statements.headOfGroup.all(type.tid, key))[0]
  }

  write({ type, key, paused }: SqliteGroup, isGone: boolean): void {
    const { setGroup, eraseGroup } = this.#statements
    if (isGone) eraseGroup.run(type.tid, key)
    else setGroup.run(type.tid, key, null, null, paused?.since ?? null, paused?.by ?? null)
  }

  forget(): void {
    this.#groups.clear()
  }
}
