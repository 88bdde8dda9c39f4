// The types of a working set: each is read once, and its counts and pause are written before a commit.

import type { JobState } from '../../storage.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import type { Listeners } from '../../rules/signals.ts'
import type { Statements } from '../connection/statements.ts'
import { pausedOf, SqliteType } from './type.ts'

export class TypeRows {
  readonly #statements: Statements
  readonly #listenersOf: (name: string) => Listeners
  readonly #byName = new Map<string, SqliteType>()
  readonly #byId = new Map<number, SqliteType>()
  readonly #changed = new Set<SqliteType>()

  constructor(statements: Statements, listenersOf: (name: string) => Listeners) {
    this.#statements = statements
    this.#listenersOf = listenersOf
  }

  find(name: string): SqliteType | undefined {
    return this.#byName.get(name) ?? this.#ofRow(this.#statements.typeByName.get(name))
  }

  /** The type, created if it is not there. */
  ensure(name: string): SqliteType {
    const known = this.find(name)
    if (known) return known
    this.#statements.addType.run(name)
    return this.find(name)!
  }

  byId(tid: number): SqliteType {
    return this.#byId.get(tid) ?? this.#ofRow(this.#statements.typeById.get(tid))!
  }

  count(type: SqliteType, state: JobState, by: number): void {
    type.countChanges[stateCodes[state]]! += by
    this.#changed.add(type)
  }

  /** Has the pause written with the counts. */
  touch(type: SqliteType): void {
    this.#changed.add(type)
  }

  write(): void {
    for (const type of this.#changed) this.#write(type)
    this.#changed.clear()
  }

  forget(): void {
    this.#byName.clear()
    this.#byId.clear()
    this.#changed.clear()
  }

  #ofRow(row: unknown): SqliteType | undefined {
    if (row === undefined) return undefined
    const [tid, name, since, by] = row as [number, string, number | null, string | null]
    const type = new SqliteType(tid, name, this.#listenersOf(name), pausedOf(since, by))
    this.#byName.set(name, type)
    this.#byId.set(tid, type)
    return type
  }

  #write(type: SqliteType): void {
    const { countChanges, paused, tid } = type
    if (countChanges.some((change) => change !== 0)) {
      this.#statements.countType.run(...countChanges, tid)
      countChanges.fill(0)
    }
    if (!type.pauseChanged) return
    this.#statements.pauseType.run(paused?.since ?? null, paused?.by ?? null, tid)
    type.pauseChanged = false
  }
}
