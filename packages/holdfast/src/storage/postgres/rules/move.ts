// A call on the rows of a working set. Where a job stands is a few columns of it, and the indexes over them are the lines.

import type { JobEvent, JobRef, JobState, NewJob, Signal } from '../../storage.ts'
import type * as Moves from '../../rules/move.ts'
import { newRowJob } from '../../rows/job.ts'
import { Signals } from '../../rules/signals.ts'
import type { PostgresGroup } from './group.ts'
import { firstProvisional, type PostgresJob } from './job.ts'
import type { PostgresType } from './types.ts'
import type { WorkingSet } from './working-set.ts'

export class PostgresMove implements Moves.Move {
  readonly set: WorkingSet
  readonly now: number
  readonly kept = new Set<Moves.Job>()
  readonly #signals = new Signals(true)
  /** Those that came into the line in this call. */
  readonly #arrived = new Map<PostgresType, Set<PostgresJob>>()
  readonly #lines = new Map<PostgresType, { jobs: PostgresJob[]; isAll: boolean; at: number }>()
  readonly #lost = new Map<PostgresType, { jobs: PostgresJob[]; at: number }>()

  constructor(set: WorkingSet, now: number) {
    this.set = set
    this.now = now
  }

  /** Before the first that this call gives out. */
  get lastNumber(): number {
    return firstProvisional + this.set.numbersTaken - 1
  }

  takeNumber(): number {
    return this.set.takeNumber()
  }

  typeOf(name: string): PostgresType | undefined {
    return this.set.typeOf(name)
  }

  // ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  stored(ref: JobRef): PostgresJob | undefined {
    return this.set.stored(ref)
  }

  create(fields: NewJob, runAt: number, after: PostgresJob | undefined, origin: PostgresJob | undefined): PostgresJob {
    const type = this.set.typeOf(fields.type)!
    const at = { accepted: this.takeNumber(), now: this.now, runAt }
    const job = newRowJob(this.set, type, fields, at, after, origin)
    this.set.enter(job)
    return job
  }

  createWaiting(fields: NewJob, runAt: number, state: 'queued' | 'scheduled'): PostgresJob | undefined {
    if (this.stored(fields)) return undefined
    const job = this.create(fields, runAt, undefined, undefined)
    this.setState(job, state)
    this.place(job, 'ready')
    return job
  }

  erase(job: PostgresJob): void {
    this.set.erase(job)
  }

  touch(job: PostgresJob): void {
    this.set.touch(job)
  }

  setState(job: PostgresJob, state: JobState): void {
    this.touch(job)
    job.state = state
  }

  place(job: PostgresJob, place: Moves.Place): void {
    this.touch(job)
    job.ready = place === 'ready' ? 1 : place === 'aside' ? 0 : undefined
    job.leased = place === 'leases'
    job.sweepable = place === 'ended'
    if (place !== 'ready') return
    const arrived = this.#arrived.get(job.type)
    if (arrived) arrived.add(job)
    else this.#arrived.set(job.type, new Set([job]))
  }

  nextReady(type: PostgresType): PostgresJob | undefined {
    let line = this.#lines.get(type)
    if (!line) this.#lines.set(type, (line = { ...this.set.lineOf(type), at: 0 }))
    const arrived = this.#arrived.get(type)
    while (line.at < line.jobs.length && (arrived?.has(line.jobs[line.at]!) || !isThere(line.jobs[line.at]!))) line.at++
    let first = line.jobs[line.at]
    // All that was read is gone: who arrived may stand behind what was not read.
    if (!first && !line.isAll) return this.set.readOn(type)
    for (const job of arrived ?? []) {
      if (!isThere(job)) arrived!.delete(job)
      else if (job.runAt <= this.now && (!first || isBefore(job, first))) first = job
    }
    return first
  }

  nextLost(type: PostgresType): PostgresJob | undefined {
    let lost = this.#lost.get(type)
    if (!lost) this.#lost.set(type, (lost = { jobs: this.set.lostOf(type), at: 0 }))
    while (lost.at < lost.jobs.length && !lost.jobs[lost.at]!.leased) lost.at++
    return lost.jobs[lost.at]
  }

  // ── chains ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  jobsOf(chain: PostgresJob): readonly PostgresJob[] {
    return this.set.jobsOfChain(chain)
  }

  continueChain(chain: PostgresJob, job: PostgresJob): void {
    chain.tailSeq = job.accepted
    this.touch(chain)
  }

  dependentsOf(chain: PostgresJob): Moves.Dependents {
    return chain.ownDependents
  }

  inheritDependents(chain: PostgresJob, replaced: PostgresJob): void {
    this.set.inheritDependents(chain, replaced)
  }

  // ── groups, keys ───────────────────────────────────────────────────────────────────────────────────────────────────

  groupOf(type: PostgresType, key: string): PostgresGroup {
    return this.set.groupOf(type, key)
  }

  headOf(group: PostgresGroup): PostgresJob | undefined {
    return this.set.headOf(group)
  }

  /** A live job of a group is its member, by the index. */
  addMember(): void {}

  removeMember(): boolean {
    return true
  }

  keepGroup(group: PostgresGroup, isEmpty: boolean): void {
    group.fate = isEmpty && !group.paused ? 'erased' : 'kept'
  }

  markOf(type: PostgresType, key: string): Moves.Mark | undefined {
    return this.set.markOf(type, key)
  }

  holdKey(job: PostgresJob, mark: Omit<Moves.Mark, 'job'>): Moves.Mark {
    return this.set.holdKey(job.type, mark)
  }

  dropKey(type: PostgresType, { key }: Moves.Mark): void {
    this.set.dropKey(type, key)
  }

  // ── hints ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  wake(type: PostgresType): void {
    this.#signals.wake(type)
  }

  done(chain: PostgresJob): void {
    this.#signals.done(chain)
  }

  abort(job: PostgresJob): void {
    this.#signals.abort(job)
  }

  event(job: PostgresJob, event: JobEvent['event'], attempt: number): void {
    this.#signals.event(job, event, attempt, this.now)
  }

  /** Those that came into the line, wherever. */
  *arrivals(): Iterable<PostgresJob> {
    for (const jobs of this.#arrived.values()) for (const job of jobs) if (isThere(job)) yield job
  }

  /** What others should hear of, when it is committed. */
  hintsForOthers(): Signal[] {
    return this.#signals.hintsForOthers()
  }

  /** After the commit. */
  send(): void {
    this.#signals.send()
  }
}

const isThere = (job: PostgresJob): boolean => job.ready === 1 && !job.isErased

function isBefore(a: PostgresJob, b: PostgresJob): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority
  return a.runAt === b.runAt ? a.order < b.order : a.runAt < b.runAt
}
