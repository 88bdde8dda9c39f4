// The objects of one run of the rules, made from the loaded rows. Changes stay in these objects until the run completes and
// write.ts writes them. Groups, keys and dependents are in files of their own.

import type * as Moves from '../../rules/move.ts'
import type { Rows, StoredReport } from '../../rows/job.ts'
import { refsOf } from '../../rules/move.ts'
import type { JobRef } from '../../storage.ts'
import { cell, firstProvisional, kindCodes, readyCodes } from '../sql/job-columns.ts'
import { encodeText } from '../sql/text.ts'
import type { PostgresGroup } from './group.ts'
import { type JobRow, type PostgresJob, readJob } from './job.ts'
import { type LoadedRows, rowsMissing } from './loaded-rows.ts'
import type { NewReport } from './report.ts'
import { nameOf, type RowName } from './row-name.ts'
import { PostgresType, type TypeRegistry } from './type-registry.ts'
import { WorkingDependents } from './working-dependents.ts'
import { WorkingFlows } from './working-flows.ts'
import { WorkingGroups } from './working-groups.ts'
import { WorkingKeys } from './working-keys.ts'

export class WorkingSet implements Rows<PostgresType> {
  readonly loaded: LoadedRows
  readonly #types: TypeRegistry
  /** Nothing is changed, and one statement has read all that is needed: what is not loaded does not exist. */
  readonly isSnapshot: boolean
  readonly #typeObjects = new Map<string, PostgresType>()
  readonly #jobs = new Map<number, PostgresJob>()
  readonly #byName = new Map<string, PostgresJob | null>()
  readonly #byGroup = new Map<string, Set<PostgresJob>>()
  readonly dirty = new Set<PostgresJob>()
  /** Jobs that may have rows in other tables: they were not alone when they were read, or report something in this call. */
  readonly indexed = new Set<PostgresJob>()
  /** What this call reports. */
  readonly reports = new Map<PostgresJob, NewReport>()
  readonly groups = new WorkingGroups(this)
  readonly flows = new WorkingFlows(this)
  readonly keys = new WorkingKeys(this)
  readonly dependents = new WorkingDependents(this)
  numbersTaken = 0

  constructor(loaded: LoadedRows, types: TypeRegistry, isSnapshot = false) {
    this.loaded = loaded
    this.#types = types
    this.isSnapshot = isSnapshot
  }

  takeNumber(): number {
    return firstProvisional + this.numbersTaken++
  }

  /** Abandons the run: the wanted rows are read, and the rules run again. */
  miss(): never {
    throw rowsMissing
  }

  // ── types ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  typeOf(name: string): PostgresType | undefined {
    const known = this.#typeObjects.get(name)
    if (known) return known
    const tid = this.#types.tidOf(name)
    if (tid === undefined) {
      if (this.loaded.types.has(name) || this.isSnapshot) return undefined
      this.loaded.wanted.types.add(name)
      return this.miss()
    }
    const type = new PostgresType(tid, name, this.#types.listenersOf(name), this.loaded.pauses.get(tid))
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
    const loaded = this.loaded.jobsByName.get(name)
    if (loaded) return this.#jobOfRow(loaded.row, loaded.isLocked)
    if (loaded === null || this.isSnapshot) return undefined
    this.loaded.wanted.jobs.set(name, { tid: type.tid, key })
    return this.miss()
  }

  /** Requests the locks of all these jobs at once, where stored() and touch() would request one at a time. */
  lockTogether(refs: readonly JobRef[], part: 'dependents' | 'all'): void {
    const { wanted } = this.loaded
    if (this.#request(refs, part === 'all' ? wanted.jobs : wanted.alone, true)) this.miss()
  }

  /** Requests the blockers of a job that is claimed, and of all others that this call may claim: a claim returns their results. */
  readBlockers({ blockers }: PostgresJob): void {
    if (!blockers || !this.#request(refsOf(blockers), this.loaded.wanted.jobs, false)) return
    for (const job of this.jobsAtHand()) {
      if (job.blockers && job.ready === readyCodes.ready) {
        this.#request(refsOf(job.blockers), this.loaded.wanted.jobs, false)
      }
    }
    this.miss()
  }

  /** Adds the jobs that are not loaded, or not locked, to the list. @returns whether there are any */
  #request(refs: readonly JobRef[], list: Map<string, RowName>, locks: boolean): boolean {
    const { wanted, types, jobsByName } = this.loaded
    let isMissing = false
    for (const { type, id } of refs) {
      const tid = this.#types.tidOf(type)
      if (tid === undefined) {
        if (types.has(type)) continue
        wanted.types.add(type)
      } else {
        const key = encodeText(id)
        const name = nameOf(tid, key)
        const job = this.#byName.get(name) ?? jobsByName.get(name)
        if (job === null || (job && (job.isLocked || !locks))) continue
        list.set(name, { tid, key })
      }
      isMissing = true
    }
    return isMissing
  }

  jobOf(seq: number): PostgresJob | undefined {
    const known = this.#jobs.get(seq)
    if (known) return known.isErased ? undefined : known
    const loaded = this.loaded.jobs.get(seq)
    if (loaded) return this.#jobOfRow(loaded.row, loaded.isLocked)
    if (loaded === null || this.isSnapshot) return undefined
    this.loaded.wanted.seqs.add(seq)
    return this.miss()
  }

  /** Requests all missing rows at once, where jobOf() would request the first. */
  jobsOf(seqs: Iterable<number>): PostgresJob[] {
    const found: PostgresJob[] = []
    let isMissing = false
    for (const seq of seqs) {
      if (!this.#jobs.has(seq) && !this.loaded.jobs.has(seq)) {
        this.loaded.wanted.seqs.add(seq)
        isMissing = true
      } else if (!isMissing) {
        const job = this.jobOf(seq)
        if (job) found.push(job)
      }
    }
    return isMissing ? this.miss() : found
  }

  /** jobsOf() for jobs that the rules are about to change: touch() would request one lock at a time. */
  lockedJobsOf(seqs: Iterable<number>): PostgresJob[] {
    const jobs = this.jobsOf(seqs)
    const unlocked = jobs.filter(({ isLocked }) => !isLocked)
    for (const { type, id } of unlocked) {
      const key = encodeText(id)
      this.loaded.wanted.locks.set(nameOf(type.tid, key), { tid: type.tid, key })
    }
    return unlocked.length > 0 ? this.miss() : jobs
  }

  #jobOfRow(row: JobRow, isLocked: boolean): PostgresJob {
    const known = this.#jobs.get(Number(row[cell.seq]))
    if (known) return known
    const type = this.typeOf(this.#types.nameOf(Number(row[cell.tid]))!)!
    const job = readJob(this, type, row)
    job.isLocked = isLocked
    if (Number(row[cell.kind]) !== kindCodes.alone) this.indexed.add(job)
    return this.#keep(job)
  }

  enter(job: PostgresJob): void {
    this.#keep(job)
    this.dirty.add(job)
  }

  erase(job: PostgresJob): void {
    this.touch(job)
    const name = nameOf(job.type.tid, encodeText(job.id))
    this.dependents.orphan(job, name)
    job.isErased = true
    this.#byName.set(name, null)
  }

  /** Marks a job as changed. One that was read without a lock is requested with one. */
  touch(job: PostgresJob): void {
    if (!job.isLocked) {
      const key = encodeText(job.id)
      this.loaded.wanted.locks.set(nameOf(job.type.tid, key), { tid: job.type.tid, key })
      this.miss()
    }
    job.isDirty = true
    this.dirty.add(job)
  }

  #keep(job: PostgresJob): PostgresJob {
    this.#jobs.set(job.accepted, job)
    this.#byName.set(nameOf(job.type.tid, encodeText(job.id)), job)
    if (job.groupKey === undefined) return job
    const name = nameOf(job.type.tid, job.groupKey)
    const ofGroup = this.#byGroup.get(name)
    if (ofGroup) ofGroup.add(job)
    else this.#byGroup.set(name, new Set([job]))
    return job
  }

  /** The jobs of this run that have the group and are not erased, in any state. */
  *jobsOfGroup({ type, key }: PostgresGroup): Iterable<PostgresJob> {
    for (const job of this.#byGroup.get(nameOf(type.tid, key)) ?? []) if (!job.isErased) yield job
  }

  /** True if this run has the job: it may have changed it. */
  isAtHand(seq: number): boolean {
    return this.#jobs.has(seq)
  }

  /** All jobs of this run that are not erased, in any state. */
  *jobsAtHand(): Iterable<PostgresJob> {
    for (const job of this.#jobs.values()) if (!job.isErased) yield job
  }

  jobsOfChain(chain: PostgresJob): PostgresJob[] {
    if (chain.tailSeq === undefined) return [chain]
    const seqs = new Set<number>()
    if (!chain.isNew) {
      for (const seq of this.#seqsOfChain(chain)) seqs.add(seq)
    }
    for (const job of this.jobsAtHand()) if (job.chainSeq === chain.accepted) seqs.add(job.accepted)
    return [chain, ...this.jobsOf([...seqs].toSorted((a, b) => a - b))]
  }

  /** Of the jobs behind its first. What one chain of the call needs, the others need too: all that miss are requested at once. */
  #seqsOfChain(chain: PostgresJob): readonly number[] {
    const { chains, jobs, wanted } = this.loaded
    const seqs = chains.get(chain.accepted)
    if (!seqs) {
      for (const { row } of this.loaded.locked()) if (row[cell.tail] !== null) wanted.chains.add(Number(row[cell.seq]))
      wanted.chains.add(chain.accepted)
      this.miss()
    }
    if (seqs!.some((seq) => !jobs.has(seq))) {
      for (const list of chains.values()) for (const seq of list) if (!jobs.has(seq)) wanted.seqs.add(seq)
      this.miss()
    }
    return seqs!
  }

  // ── lists ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The due jobs that were read, in the order of claims. */
  dueOf({ tid }: PostgresType): { jobs: PostgresJob[]; isComplete: boolean } {
    const due = this.loaded.due.get(tid) ?? { seqs: [], isComplete: true }
    return { jobs: this.jobsOf(due.seqs), isComplete: due.isComplete }
  }

  readMoreDue({ tid }: PostgresType): never {
    this.loaded.wanted.due.set(tid, 2 * (this.loaded.due.get(tid)?.seqs.length ?? 0) + 1)
    return this.miss()
  }

  lostOf({ tid }: PostgresType): PostgresJob[] {
    return this.jobsOf(this.loaded.lost.get(tid) ?? [])
  }

  // ── what belongs to other rows ─────────────────────────────────────────────────────────────────────────────────────

  groupOf(type: PostgresType, key: string): PostgresGroup {
    return this.groups.of(type, key)
  }

  markOf(type: PostgresType, key: string): Moves.Mark | undefined {
    return this.keys.markOf(type, key)
  }

  dependentsOf(chain: PostgresJob): Moves.Dependents {
    return this.dependents.of(chain)
  }

  reportOf({ accepted, isNew }: PostgresJob): StoredReport | undefined {
    const { reports, wanted } = this.loaded
    if (isNew || reports.has(accepted) || this.isSnapshot) return reports.get(accepted)
    wanted.reports.add(accepted)
    return this.miss()
  }

  report(job: PostgresJob, { progress, lines }: NewReport): void {
    this.touch(job)
    this.indexed.add(job)
    const before = this.reports.get(job)
    this.reports.set(job, {
      progress: progress ?? before?.progress,
      lines: before ? [...before.lines, ...lines] : lines,
    })
  }
}
