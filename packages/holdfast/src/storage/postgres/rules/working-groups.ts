// The groups of one run of the rules: the ring of each type, and the waiting jobs of each group.

import { isTurnBefore } from '../../rules/flow.ts'
import { readyCodes } from '../sql/job-columns.ts'
import { encodeText } from '../sql/text.ts'
import { groupOfRow, type PostgresGroup } from './group.ts'
import type { PostgresJob } from './job.ts'
import type { ListPrefix } from './loaded-rows.ts'
import { nameOf } from './row-name.ts'
import type { PostgresType } from './type-registry.ts'
import type { WorkingSet } from './working-set.ts'

export class WorkingGroups {
  readonly #set: WorkingSet
  readonly #byName = new Map<string, PostgresGroup>()
  readonly #byType = new Map<PostgresType, PostgresGroup[]>()
  /** Types whose loaded part of the ring is in these maps. */
  readonly #withRing = new Set<PostgresType>()

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
    const ofType = this.#byType.get(type)
    if (ofType) ofType.push(group)
    else this.#byType.set(type, [group])
    return group
  }

  // ── the ring ───────────────────────────────────────────────────────────────────────────────────────────────────────

  nextTurn(type: PostgresType, now: number): PostgresGroup | undefined {
    let first: PostgresGroup | undefined
    for (const group of this.#known(type)) {
      if (hasTurn(group, now) && (!first || isTurnBefore(group, first))) first = group
    }
    const { last } = this.#set.loaded.ring.get(type.tid) ?? {}
    // Groups that were not read may come before those that this call has put back.
    if (last && (!first || isTurnBefore(last, first))) return this.#readRing(type)
    return first
  }

  turnsOf(type: PostgresType, now: number): PostgresGroup[] {
    if (this.#set.loaded.ring.get(type.tid)?.last) return this.#readRing(type)
    return [...this.#known(type)].filter((group) => hasTurn(group, now))
  }

  /** The groups of a type that were read for any reason: each may have a turn by now. */
  #known(type: PostgresType): readonly PostgresGroup[] {
    if (!this.#withRing.has(type)) {
      this.#withRing.add(type)
      for (const key of this.#set.loaded.ring.get(type.tid)?.keys ?? []) this.of(type, key)
    }
    return this.#byType.get(type) ?? []
  }

  #readRing({ tid }: PostgresType): never {
    const { ring, wanted } = this.#set.loaded
    wanted.ring.set(tid, 4 * ring.get(tid)!.limit)
    return this.#set.miss()
  }

  // ── members ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The first live member, in the order of acceptance. */
  headOf(group: PostgresGroup): PostgresJob | undefined {
    const { type, key } = group
    const encoded = encodeText(key)
    const members = group.isNew ? noMembers : this.#set.loaded.members.get(nameOf(type.tid, encoded))
    if (!members) return this.#readMembers(type, encoded, 2)
    this.#set.jobsOf(members.seqs)
    const last = members.isComplete ? Infinity : members.seqs.at(-1)!
    let head: PostgresJob | undefined
    for (const job of this.#set.jobsOfGroup(group)) {
      if (!isLive(job) || job.accepted > last) continue
      if (!head || job.accepted < head.accepted) head = job
    }
    return head ?? (members.isComplete ? undefined : this.#readMembers(type, encoded, 4 * members.seqs.length))
  }

  #readMembers(type: PostgresType, key: string, limit: number): never {
    this.#set.loaded.wanted.members.set(nameOf(type.tid, key), { tid: type.tid, key, limit })
    return this.#set.miss()
  }

  /** Due jobs of an unordered group that were read, in the order of claims. */
  bestOf({ type, key, isNew }: PostgresGroup): { jobs: PostgresJob[]; isComplete: boolean } {
    if (isNew) return { jobs: [], isComplete: true }
    const best = this.#set.loaded.best.get(nameOf(type.tid, encodeText(key)))
    return best ? { jobs: this.#set.jobsOf(best.seqs), isComplete: best.isComplete } : { jobs: [], isComplete: false }
  }

  readMoreBest({ type, key }: PostgresGroup): never {
    const { best, wanted } = this.#set.loaded
    const encoded = encodeText(key)
    const name = nameOf(type.tid, encoded)
    wanted.best.set(name, { tid: type.tid, key: encoded, limit: 2 * (best.get(name)?.seqs.length ?? 0) + 1 })
    return this.#set.miss()
  }

  firstRunAt(group: PostgresGroup, now: number): number | undefined {
    // The due jobs that were read are at hand from here on.
    this.bestOf(group)
    let first = Infinity
    for (const job of this.#set.jobsOfGroup(group)) {
      if (job.ready === readyCodes.aside && job.runAt < first) first = job.runAt
    }
    // Which of the due jobs was due first makes no difference.
    if (first <= now) return first
    const { type, key } = group
    const encoded = encodeText(key)
    const name = nameOf(type.tid, encoded)
    const { waiting, wanted } = this.#set.loaded
    const loaded = group.isNew ? { jobs: [], isComplete: true } : waiting.get(name)
    for (const { seq, runAt } of loaded?.jobs ?? []) if (!this.#set.isAtHand(seq)) first = Math.min(first, runAt)
    if (!loaded || (!loaded.isComplete && first > loaded.jobs.at(-1)!.runAt)) {
      wanted.waiting.set(name, { tid: type.tid, key: encoded, limit: 4 * (loaded?.jobs.length ?? 0) + 1 })
      return this.#set.miss()
    }
    return first === Infinity ? undefined : first
  }
}

/** Of a group without a row. */
const noMembers: ListPrefix = { seqs: [], isComplete: true }

const hasTurn = ({ turnAt }: PostgresGroup, now: number): boolean => turnAt !== undefined && turnAt <= now

const isLive = ({ state }: PostgresJob): boolean => state !== 'completed' && state !== 'failed' && state !== 'cancelled'
