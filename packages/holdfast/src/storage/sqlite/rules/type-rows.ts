// The types of a working set: each is read once, and its counts, pause and flow are written before a commit.

import type { JobState } from '../../storage.ts'
import { emptyFlow, type Flow } from '../../rules/flow.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import type { Listeners } from '../../rules/signals.ts'
import type { Statements } from '../connection/statements.ts'
import { decodeFlow } from './group.ts'
import { pausedOf, SqliteType } from './type.ts'

type TypeRow = [
  tid: number,
  name: string,
  pausedSince: number | null,
  pausedBy: string | null,
  hasGroups: number,
  flow: string | null,
]

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

  /** The number of its jobs in these states, with the changes of this transaction. */
  countOf(type: SqliteType, states: readonly JobState[]): number {
    type.counts ??= this.#statements.countsOfType.get(type.tid) as unknown as number[]
    let count = 0
    for (const state of states) count += type.counts[stateCodes[state]]! + type.countChanges[stateCodes[state]]!
    return count
  }

  setHasGroups(type: SqliteType, hasGroups: boolean): void {
    if (type.hasGroups === hasGroups) return
    type.hasGroups = hasGroups
    type.flowChanged = true
    this.#changed.add(type)
  }

  setFlow(type: SqliteType, flow: Flow | undefined): void {
    type.flow = flow
    type.flowChanged = true
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
    const [tid, name, since, by, hasGroups, flow] = row as TypeRow
    const type = new SqliteType(tid, name, this.#listenersOf(name), {
      paused: pausedOf(since, by),
      hasGroups: hasGroups === 1,
      flow: flow === null ? undefined : { ...emptyFlow, ...(decodeFlow(flow) as Partial<Flow>) },
    })
    this.#byName.set(name, type)
    this.#byId.set(tid, type)
    return type
  }

  #write(type: SqliteType): void {
    const { countChanges, paused, tid } = type
    if (countChanges.some((change) => change !== 0)) {
      this.#statements.countType.run(...countChanges, tid)
      type.counts = type.counts?.map((count, code) => count + countChanges[code]!)
      countChanges.fill(0)
    }
    if (type.flowChanged) {
      const { hasGroups, flow } = type
      this.#statements.setFlow.run(hasGroups ? 1 : 0, flow ? JSON.stringify(flow) : null, tid)
      type.flowChanged = false
    }
    if (!type.pauseChanged) return
    this.#statements.pauseType.run(paused?.since ?? null, paused?.by ?? null, tid)
    type.pauseChanged = false
  }
}
