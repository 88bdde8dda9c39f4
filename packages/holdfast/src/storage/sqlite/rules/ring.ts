// The ring of each type in one call. The first groups are read ahead, and follow the changes of the call: a group that goes to
// the back of a short ring comes round again without a statement.

import { type GroupState, isTurnBefore } from '../../rules/flow.ts'
import type { SqliteGroup } from './group.ts'
import type { SqliteType } from './type.ts'
import type { WorkingSet } from './working-set.ts'

/** Groups that the first statement reads at most. Each later one reads twice as many as the one before. */
const firstRead = 16

interface Ahead {
  /** The first one last. */
  readonly groups: SqliteGroup[]
  readonly number: number
  /** The turn up to which the ring was read. Undefined: it was read to its end. */
  readonly bound: Pick<GroupState, 'turnAt' | 'turn'> | undefined
}

export class Ring {
  readonly #set: WorkingSet
  readonly #now: number
  readonly #ahead = new Map<SqliteType, Ahead>()

  constructor(set: WorkingSet, now: number) {
    this.#set = set
    this.#now = now
  }

  /** @param most number of groups that the call can use */
  first(type: SqliteType, most: number): SqliteGroup | undefined {
    if (!type.hasGroups || type.noTurnBefore > this.#now) return undefined
    for (;;) {
      const ahead = this.#ahead.get(type)
      const group = ahead?.groups.at(-1)
      if (group || (ahead && !ahead.bound)) return group
      this.#ahead.set(type, this.#read(type, Math.min(most, ahead ? 2 * ahead.number : firstRead)))
    }
  }

  all(type: SqliteType): SqliteGroup[] {
    return type.hasGroups && type.noTurnBefore <= this.#now ? this.#set.groups.ring(type, this.#now, 2 ** 31) : []
  }

  change(group: SqliteGroup, changes: Partial<GroupState>): void {
    const ahead = 'turnAt' in changes || 'turn' in changes ? this.#ahead.get(group.type) : undefined
    if (ahead) remove(ahead, group)
    this.#set.groups.change(group, changes)
    if (ahead) this.#insert(ahead, group)
  }

  #read(type: SqliteType, number: number): Ahead {
    const groups = this.#set.groups.ring(type, this.#now, number).toReversed()
    const last = groups[0]
    return { groups, number, bound: groups.length < number ? undefined : { turnAt: last!.turnAt, turn: last!.turn } }
  }

  #insert({ groups, bound }: Ahead, group: SqliteGroup): void {
    const { turnAt = Infinity } = group
    // A group beyond the bound is read in its turn.
    if (turnAt > this.#now || (bound && isTurnBefore(bound, group))) return
    let index = 0
    while (index < groups.length && isTurnBefore(group, groups[index]!)) index++
    groups.splice(index, 0, group)
  }
}

function remove({ groups }: Ahead, group: SqliteGroup): void {
  const index = groups.lastIndexOf(group)
  if (index >= 0) groups.splice(index, 1)
}
