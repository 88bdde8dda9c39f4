// The groups of a working set. A group is read at most once per transaction, and written when a statement must see it, or before
// a commit.

import type { GroupState } from '../../rules/flow.ts'
import type { Statements } from '../connection/statements.ts'
import { groupCells, type GroupRow, newGroup, readGroup, type SqliteGroup } from './group.ts'
import type { TypeRows } from './type-rows.ts'
import { nameOf, type SqliteType } from './type.ts'

export class GroupRows {
  readonly #statements: Statements
  readonly #types: TypeRows
  readonly #groups = new Map<string, SqliteGroup>()
  #dirty: SqliteGroup[] = []

  constructor(statements: Statements, types: TypeRows) {
    this.#statements = statements
    this.#types = types
  }

  of(type: SqliteType, key: string): SqliteGroup {
    const known = this.#groups.get(nameOf(type, key))
    if (known) return known
    const row = type.hasGroups ? this.#statements.group.get(type.tid, key) : undefined
    return this.#keep(row ? readGroup(type, row as unknown as GroupRow) : newGroup(type, key))
  }

  /** The first groups of the ring whose turnAt has come. */
  ring(type: SqliteType, now: number, limit: number): SqliteGroup[] {
    this.flush()
    const rows = this.#statements.ring.all(type.tid, now, limit) as unknown as GroupRow[]
    if (rows.length === 0) type.noTurnBefore = this.#firstTurn(type)
    // The group in memory, if there is one: the rules may hold it.
    return rows.map((row) => this.#groups.get(nameOf(type, row[0])) ?? this.#keep(readGroup(type, row)))
  }

  /** The first instant at which a group of the ring has a turn. To be called after flush(). */
  #firstTurn({ tid }: SqliteType): number {
    const first = this.#statements.firstTurn.get(tid) as unknown as [number] | undefined
    return first ? first[0] : Infinity
  }

  change(group: SqliteGroup, changes: Partial<GroupState>): void {
    Object.assign(group, changes)
    const { type, turnAt } = group
    if (turnAt !== undefined && turnAt < type.noTurnBefore) type.noTurnBefore = turnAt
    this.#types.setHasGroups(type, true)
    if (group.isDirty) return
    group.isDirty = true
    this.#dirty.push(group)
  }

  /** Writes what has changed, so that statements see it. */
  flush(): void {
    if (this.#dirty.length === 0) return
    const { addGroup, setGroup, eraseGroup } = this.#statements
    for (const group of this.#dirty) {
      group.isDirty = false
      const { type, key, isNeeded, isStored } = group
      if (isNeeded) {
        const cells = groupCells(group)
        // A sweep may have deleted the row of a group that a job in memory still has.
        const isWritten = isStored && setGroup.run(...cells.slice(1), type.tid, key).changes > 0
        if (!isWritten) addGroup.run(type.tid, ...cells)
        group.isStored = true
        continue
      }
      eraseGroup.run(type.tid, key)
      group.isStored = false
      this.#groups.delete(nameOf(type, key))
    }
    this.#dirty = []
  }

  /** Deletes groups that were needed until a time only. No call has changed them since, so none is read again. */
  sweep(now: number, limit: number): void {
    this.flush()
    if (this.#statements.sweepGroups.run(now, limit).changes > 0) this.#groups.clear()
  }

  hasOverdue(now: number): boolean {
    return this.#statements.overdueGroup.get(now) !== undefined
  }

  forget(): void {
    this.#groups.clear()
    this.#dirty = []
  }

  #keep(group: SqliteGroup): SqliteGroup {
    this.#groups.set(nameOf(group.type, group.key), group)
    return group
  }
}
