// The ordered groups of one run of the rules.

import { encodeText } from '../sql/text.ts'
import { groupOfRow, type PostgresGroup } from './group.ts'
import type { PostgresJob } from './job.ts'
import { nameOf } from './row-name.ts'
import type { PostgresType } from './type-registry.ts'
import type { WorkingSet } from './working-set.ts'

export class WorkingGroups {
  readonly #set: WorkingSet
  readonly #byName = new Map<string, PostgresGroup>()

  constructor(set: WorkingSet) {
    this.#set = set
  }

  values(): Iterable<PostgresGroup> {
    return this.#byName.values()
  }

  of(type: PostgresType, key: string): PostgresGroup {
    const encoded = encodeText(key)
    const name = nameOf(type.tid, encoded)
    const known = this.#byName.get(name)
    if (known) return known
    const { isSnapshot, loaded } = this.#set
    const row = isSnapshot ? null : loaded.groups.get(name)
    if (row === undefined) {
      loaded.wanted.groups.set(name, { tid: type.tid, key: encoded })
      this.#set.miss()
    }
    const group = groupOfRow(type, key, row!)
    this.#byName.set(name, group)
    return group
  }

  /** The first live member, in the order of acceptance. */
  headOf({ type, key }: PostgresGroup): PostgresJob | undefined {
    const encoded = encodeText(key)
    const members = this.#set.loaded.members.get(nameOf(type.tid, encoded))
    if (!members) return this.#readMembers(type, encoded, 2)
    this.#set.jobsOf(members.seqs)
    const last = members.isComplete ? Infinity : members.seqs.at(-1)!
    let head: PostgresJob | undefined
    for (const job of this.#set.jobsAtHand()) {
      if (job.groupKey !== key || job.type !== type || !isLive(job) || job.accepted > last) continue
      if (!head || job.accepted < head.accepted) head = job
    }
    return head ?? (members.isComplete ? undefined : this.#readMembers(type, encoded, 4 * members.seqs.length))
  }

  #readMembers(type: PostgresType, key: string, limit: number): never {
    this.#set.loaded.wanted.members.set(nameOf(type.tid, key), { tid: type.tid, key, limit })
    return this.#set.miss()
  }
}

const isLive = ({ state }: PostgresJob): boolean => state !== 'completed' && state !== 'failed' && state !== 'cancelled'
