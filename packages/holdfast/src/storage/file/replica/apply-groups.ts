// The groups in changes that are applied. The lists of members, and their numbers, follow from the records of jobs; the rest of
// a group, with its place in the ring, is what a commit says.
//
// Commits of format 1 say nothing about groups, which were all ordered. Their places follow from the records then, without the
// clock of this process: every replica of an old log has the same ring.

import type { MemoryJob, TypeData } from '../../memory/data.ts'
import { type Group, isLingering, newGroup } from '../../memory/group.ts'
import type { MemoryMove } from '../../memory/move.ts'
import { emptyGroup, type GroupState } from '../../rules/flow.ts'
import { isTerminal, isWaiting } from '../../rules/job/states.ts'
import type { GroupPut } from './changes.ts'
import type { Replica } from './replica.ts'

export class GroupApplication {
  readonly #replica: Replica
  readonly #move: MemoryMove
  /** Groups of which a member changed, or something else. */
  readonly #changed = new Set<Group>()
  /** Jobs that were unfinished members before the changes. */
  readonly #members = new Set<MemoryJob>()
  /** By type and key. */
  readonly #names = new Map<TypeData, Map<string, Group>>()

  constructor(replica: Replica, move: MemoryMove) {
    this.#replica = replica
    this.#move = move
  }

  /** The stored group, created if there is none. */
  of(type: TypeData, key: string): Group {
    let group = type.groups.get(key)
    if (!group) type.groups.set(key, (group = newGroup(type, key)))
    this.#changed.add(group)
    return group
  }

  /** A job is about to change: it leaves its place, and is counted again by enter(). */
  begin(job: MemoryJob): void {
    if (!job.group || isTerminal(job.state)) return
    this.#members.add(job)
    this.#changed.add(job.group)
    if (job.state === 'processing') job.group.running--
  }

  /** An unfinished job is about to be deleted. */
  erase(job: MemoryJob): void {
    // The group of an ended job may be gone, and another group may have its name.
    if (!job.group || isTerminal(job.state)) return
    if (job.state === 'processing') job.group.running--
    this.#leave(job, job.group)
  }

  /** The job has its new state. */
  link(job: MemoryJob, key: string): void {
    const isMember = !isTerminal(job.state)
    if (this.#members.has(job) !== isMember) {
      if (isMember) this.#join(job, this.of(job.type, key))
      else this.#leave(job, job.group!)
    }
    job.group ??= this.#nameOf(job.type, key)
    if (job.state === 'processing') job.group.running++
  }

  /** An ended job knows the name of its group only. Jobs of one name share an object: a snapshot may have many of them. */
  #nameOf(type: TypeData, key: string): Group {
    let names = this.#names.get(type)
    if (!names) this.#names.set(type, (names = new Map()))
    let group = names.get(key)
    if (!group) names.set(key, (group = this.#move.groupOf(type, key)))
    return group
  }

  #join(job: MemoryJob, group: Group): void {
    job.group = group
    this.#move.addMember(job)
    group.size++
    group.ordered = job.membership !== 'unordered'
  }

  #leave(job: MemoryJob, group: Group): void {
    this.#move.removeMember(job)
    group.size--
    this.#changed.add(group)
  }

  /** Sets the states, once all jobs are in their places. */
  put(puts: readonly GroupPut[]): void {
    for (const { type: name, key, state } of puts) {
      const type = this.#replica.data.ensureType(name)
      if (state) this.#assign(this.of(type, key), state)
      else this.#drop(type.groups.get(key))
    }
  }

  /** Sets the places of groups after a commit of format 1. */
  derive(): void {
    for (const group of this.#changed) {
      if (group.size === 0 && !group.paused) this.#drop(group)
      else this.#assign(group, turnFromRecords(group))
    }
  }

  /** A sweep looks at the groups that have no members any more. */
  end(): void {
    const { lingering } = this.#replica.data
    for (const group of this.#changed) if (isLingering(group)) lingering.add(group)
  }

  #assign(group: Group, state: Partial<GroupState>): void {
    const { ring } = group.type
    if (group.heapIndex >= 0) ring.remove(group)
    Object.assign(group, state)
    if (group.turnAt !== undefined) ring.push(group)
  }

  #drop(group: Group | undefined): void {
    if (!group) return
    this.#assign(group, emptyGroup)
    group.type.groups.delete(group.key)
    this.#replica.data.lingering.delete(group)
  }
}

function turnFromRecords({ running, paused, members }: Group): Pick<GroupState, 'turnAt' | 'turn'> {
  const head = members.peek()?.job
  if (!head || running > 0 || paused || !isWaiting(head.state)) return { turnAt: undefined, turn: 0 }
  return { turnAt: head.runAt, turn: head.order }
}
