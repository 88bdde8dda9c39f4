// The objects of one run of the rules, made from the rows at hand. What a run changes is in these objects alone, until it
// gets through and write.ts writes them.
// Longer than others: jobs, groups, keys and dependents are four sides of the same rows.

import type { JobRef } from '../../storage.ts'
import type * as Moves from '../../rules/move.ts'
import type { Rows } from '../../rows/job.ts'
import { markOn } from '../../rows/mark.ts'
import { DependentSet } from './dependents.ts'
import { PostgresGroup } from './group.ts'
import { firstProvisional, type JobRow, type PostgresJob, readJob } from './job.ts'
import { type Loaded, missing, nameOf } from './loaded.ts'
import { decodeText, encodeText } from './text.ts'
import { PostgresType, type Types } from './types.ts'

export class WorkingSet implements Rows<PostgresType> {
  readonly #loaded: Loaded
  readonly #types: Types
  /** Nothing is changed: all that is needed was read by one statement. */
  readonly reads: boolean
  readonly #typeObjects = new Map<string, PostgresType>()
  readonly #jobs = new Map<number, PostgresJob>()
  readonly #byName = new Map<string, PostgresJob | null>()
  readonly dirty = new Set<PostgresJob>()
  readonly groups = new Map<string, PostgresGroup>()
  readonly #marks = new Map<string, Moves.Mark | null>()
  /** Keys that changed: who has them now. */
  readonly keysSet = new Map<
    string,
    { type: PostgresType; key: string; mark: Moves.Mark | undefined; isNew: boolean }
  >()
  readonly dependents = new Map<string, DependentSet>()
  /** Names of erased chains that somebody waited for. */
  readonly #orphaned = new Set<string>()
  numbersTaken = 0

  constructor(loaded: Loaded, types: Types, reads = false) {
    this.#loaded = loaded
    this.#types = types
    this.reads = reads
  }

  takeNumber(): number {
    return firstProvisional + this.numbersTaken++
  }

  /** Gives the run up: what it wants is read before the next one. */
  miss(): never {
    throw missing
  }

  // ── types ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  typeOf(name: string): PostgresType | undefined {
    const known = this.#typeObjects.get(name)
    if (known) return known
    const tid = this.#types.tidOf(name)
    if (tid === undefined) {
      if (this.#loaded.types.has(name) || this.reads) return undefined
      this.#loaded.want.types.add(name)
      return this.miss()
    }
    const type = new PostgresType(tid, name, this.#types.listenersOf(name), this.#loaded.pauses.get(tid))
    this.#typeObjects.set(name, type)
    return type
  }

  // ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  stored({ type: typeName, id }: JobRef): PostgresJob | undefined {
    const type = this.typeOf(typeName)
    if (!type) return undefined
    const key = encodeText(id)
    const name = nameOf(type.tid, key)
    const known = this.#byName.get(name)
    if (known !== undefined) return known ?? undefined
    const loaded = this.#loaded.jobsByName.get(name)
    if (loaded) return this.#jobOfRow(loaded.row, loaded.isLocked)
    if (loaded === null || this.reads) return undefined
    this.#loaded.want.jobs.set(name, { tid: type.tid, key })
    return this.miss()
  }

  jobOf(seq: number): PostgresJob | undefined {
    const known = this.#jobs.get(seq)
    if (known) return known.isErased ? undefined : known
    const loaded = this.#loaded.jobs.get(seq)
    if (loaded) return this.#jobOfRow(loaded.row, loaded.isLocked)
    if (loaded === null || this.reads) return undefined
    this.#loaded.want.seqs.add(seq)
    return this.miss()
  }

  /** All of them, so that what is missing is read at once. */
  jobsOf(seqs: Iterable<number>): PostgresJob[] {
    const found: PostgresJob[] = []
    let isMissing = false
    for (const seq of seqs) {
      if (!this.#jobs.has(seq) && !this.#loaded.jobs.has(seq)) {
        this.#loaded.want.seqs.add(seq)
        isMissing = true
      } else if (!isMissing) {
        const job = this.jobOf(seq)
        if (job) found.push(job)
      }
    }
    return isMissing ? this.miss() : found
  }

  #jobOfRow(row: JobRow, isLocked: boolean): PostgresJob {
    const known = this.#jobs.get(Number(row[0]))
    if (known) return known
    const type = this.typeOf(this.#types.nameOf(Number(row[1]))!)!
    const job = readJob(this, type, row)
    job.isLocked = isLocked
    return this.#keep(job)
  }

  enter(job: PostgresJob): void {
    this.#keep(job)
    this.dirty.add(job)
  }

  erase(job: PostgresJob): void {
    this.touch(job)
    const name = nameOf(job.type.tid, encodeText(job.id))
    if (job.dependentCount > 0) {
      this.dependentsOf(job)
      this.#orphaned.add(name)
    }
    job.isErased = true
    this.#byName.set(name, null)
  }

  touch(job: PostgresJob): void {
    if (!job.isLocked) {
      const key = encodeText(job.id)
      this.#loaded.want.locks.set(nameOf(job.type.tid, key), { tid: job.type.tid, key })
      this.miss()
    }
    job.isDirty = true
    this.dirty.add(job)
  }

  #keep(job: PostgresJob): PostgresJob {
    this.#jobs.set(job.accepted, job)
    this.#byName.set(nameOf(job.type.tid, encodeText(job.id)), job)
    return job
  }

  /** Of those at hand: live or not, but not erased. */
  *atHand(): Iterable<PostgresJob> {
    for (const job of this.#jobs.values()) if (!job.isErased) yield job
  }

  jobsOfChain(chain: PostgresJob): PostgresJob[] {
    if (chain.tailSeq === undefined) return [chain]
    const seqs = new Set<number>()
    if (!chain.isNew) {
      const loaded = this.#loaded.chains.get(chain.accepted)
      if (!loaded) {
        this.#loaded.want.chains.add(chain.accepted)
        this.miss()
      }
      for (const seq of loaded!) seqs.add(seq)
    }
    for (const job of this.atHand()) if (job.chainSeq === chain.accepted) seqs.add(job.accepted)
    return [chain, ...this.jobsOf([...seqs].toSorted((a, b) => a - b))]
  }

  // ── lines ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The due ones that were read from its line, the first first. */
  lineOf({ tid }: PostgresType): { jobs: PostgresJob[]; isAll: boolean } {
    const line = this.#loaded.lines.get(tid) ?? { seqs: [], isAll: true }
    return { jobs: this.jobsOf(line.seqs), isAll: line.isAll }
  }

  readOn({ tid }: PostgresType): never {
    this.#loaded.want.lines.set(tid, 2 * (this.#loaded.lines.get(tid)?.seqs.length ?? 0) + 1)
    return this.miss()
  }

  lostOf({ tid }: PostgresType): PostgresJob[] {
    return this.jobsOf(this.#loaded.lost.get(tid) ?? [])
  }

  // ── groups ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  groupOf(type: PostgresType, key: string): PostgresGroup {
    const encoded = encodeText(key)
    const name = nameOf(type.tid, encoded)
    let group = this.groups.get(name)
    if (!group) {
      const row = this.reads ? null : this.#loaded.groups.get(name)
      if (row === undefined) {
        this.#loaded.want.groups.set(name, { tid: type.tid, key: encoded })
        this.miss()
      }
      group = new PostgresGroup(this, type, key, row!)
      this.groups.set(name, group)
    }
    return group
  }

  /** Its first live member, in the order of acceptance. */
  headOf({ type, key }: PostgresGroup): PostgresJob | undefined {
    const encoded = encodeText(key)
    const name = nameOf(type.tid, encoded)
    const stretch = this.#loaded.members.get(name)
    if (!stretch) return this.#readMembers(type, encoded, 2)
    this.jobsOf(stretch.seqs)
    const last = stretch.isAll ? Infinity : stretch.seqs.at(-1)!
    let head: PostgresJob | undefined
    for (const job of this.atHand()) {
      if (job.groupKey !== key || job.type !== type || !isLive(job) || job.accepted > last) continue
      if (!head || job.accepted < head.accepted) head = job
    }
    return head ?? (stretch.isAll ? undefined : this.#readMembers(type, encoded, 4 * stretch.seqs.length))
  }

  #readMembers(type: PostgresType, key: string, limit: number): never {
    this.#loaded.want.members.set(nameOf(type.tid, key), { tid: type.tid, key, limit })
    return this.miss()
  }

  // ── keys ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  markOf(type: PostgresType, key: string): Moves.Mark | undefined {
    const encoded = encodeText(key)
    const name = nameOf(type.tid, encoded)
    const known = this.#marks.get(name)
    if (known !== undefined) return known ?? undefined
    // As it was, for those who read: it is not among what was read for them.
    if (this.reads) return undefined
    const row = this.#loaded.keys.get(name)
    if (row === undefined) {
      this.#loaded.want.keys.set(name, { tid: type.tid, key: encoded })
      this.miss()
    }
    const mark = row ? markOn(this, type, markFields(key, row)) : undefined
    this.#marks.set(name, mark ?? null)
    return mark
  }

  holdKey(type: PostgresType, fields: Omit<Moves.Mark, 'job'>): Moves.Mark {
    const mark = markOn(this, type, fields)
    this.#setKey(type, fields.key, mark)
    return mark
  }

  dropKey(type: PostgresType, key: string): void {
    this.#setKey(type, key, undefined)
  }

  #setKey(type: PostgresType, key: string, mark: Moves.Mark | undefined): void {
    this.markOf(type, key)
    const name = nameOf(type.tid, encodeText(key))
    this.#marks.set(name, mark ?? null)
    this.keysSet.set(name, { type, key, mark, isNew: this.#loaded.keys.get(name) === null })
  }

  // ── dependents ─────────────────────────────────────────────────────────────────────────────────────────────────────

  dependentsOf(chain: PostgresJob): Moves.Dependents {
    const { tid } = chain.type
    const key = encodeText(chain.id)
    const name = nameOf(tid, key)
    let all = this.dependents.get(name)
    if (!all) {
      // One that has none by its row, which is locked, has none.
      const seqs = chain.dependentCount === 0 || this.reads ? [] : this.#loaded.dependents.get(name)
      if (!seqs) {
        this.#loaded.want.dependents.set(name, { tid, key })
        this.miss()
      }
      all = new DependentSet(tid, key, seqs!)
      this.dependents.set(name, all)
    }
    const set = all
    const change = (by: number, isChanged: boolean): boolean => {
      if (!isChanged) return false
      chain.dependentCount += by
      this.touch(chain)
      return true
    }
    return {
      get size() {
        return chain.dependentCount
      },
      [Symbol.iterator]: () => this.jobsOf(set.inOrder()).values(),
      add: (job) => {
        // Those who waited for an erased chain of this name do not wait for the one that has it now.
        if (this.#orphaned.delete(name)) set.present.clear()
        return change(1, set.add(job.accepted))
      },
      delete: (job) => change(-1, set.present.delete(job.accepted)),
    }
  }

  /** Those who waited for the chain of this name wait for this one. */
  inheritDependents(chain: PostgresJob, replaced: PostgresJob): void {
    chain.dependentCount = replaced.dependentCount
    this.#orphaned.delete(nameOf(chain.type.tid, encodeText(chain.id)))
  }

  /** Once the rules are through. */
  end(): void {
    for (const name of this.#orphaned) this.dependents.get(name)?.present.clear()
  }
}

const isLive = ({ state }: PostgresJob): boolean => state !== 'completed' && state !== 'failed' && state !== 'cancelled'

/** @param row id, token, mode, shared, until */
function markFields(
  key: string,
  [id, token, mode, shared, until]: readonly (string | null)[],
): Omit<Moves.Mark, 'job'> {
  return {
    key,
    id: decodeText(id!),
    token: decodeText(token!),
    mode: mode as 'simple' | 'throttle',
    shared: shared === 'true',
    until: Number(until),
  }
}
