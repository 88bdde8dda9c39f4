// One call on the rows of a working set. The place of a job is a few of its columns, and the indexes over them are the lists.
// Longer than others: it has a method for each step of the rules (rules/move.ts).

import type { Bytes, JobEvent, JobRef, JobState, LogLine, NewJob, Signal } from '../../storage.ts'
import { emptyFlow, type Flow, type GroupState, isGroupNeeded } from '../../rules/flow.ts'
import type * as Moves from '../../rules/move.ts'
import { Signals } from '../../rules/signals.ts'
import { newRowJob } from '../../rows/new-job.ts'
import { hasRowAlone, isDue, type Row, type SqliteJob } from './job.ts'
import type { SqliteGroup } from './group.ts'
import { Members } from './members.ts'
import { PlainRows } from './plain-rows.ts'
import { Ring } from './ring.ts'
import type { SqliteType } from './type.ts'
import type { WorkingSet } from './working-set.ts'

/** Lost leases that one statement reads. */
const lostPerRead = 100

export class SqliteMove implements Moves.Move {
  readonly set: WorkingSet
  readonly now: number
  readonly kept = new Set<Moves.Job>()
  /** Ready jobs that one statement reads: a claim sets it to its slots. */
  slots = 1
  readonly #added = new PlainRows(this)
  readonly #signals = new Signals(true)
  readonly #ready = new Map<SqliteType, ReadAhead>()
  readonly #lost = new Map<SqliteType, ReadAhead>()
  readonly #ring: Ring
  readonly #members: Members

  constructor(set: WorkingSet, now: number) {
    this.set = set
    this.now = now
    this.#ring = new Ring(set, now)
    this.#members = new Members(set, now)
  }

  get lastNumber(): number {
    return this.set.lastNumber
  }

  takeNumber(): number {
    return this.set.takeNumber()
  }

  typeOf(name: string): SqliteType | undefined {
    return this.set.types.find(name)
  }

  // ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  stored(ref: JobRef): SqliteJob | undefined {
    return this.set.jobs.stored(ref)
  }

  /** A statement for each costs no round trip. */
  loadTogether(): void {}

  create(fields: NewJob, runAt: number, after: SqliteJob | undefined, origin: SqliteJob | undefined): SqliteJob {
    const type = this.set.types.ensure(fields.type)
    const at = { accepted: this.takeNumber(), now: this.now, runAt }
    const job = newRowJob(this.set, type, fields, at, after, origin)
    this.set.add(job)
    return job
  }

  createWaiting(fields: NewJob, runAt: number, state: 'queued' | 'scheduled'): SqliteType | undefined {
    if (hasRowAlone(fields)) {
      const type = this.#added.add(fields, runAt, state)
      // It may precede those that were read.
      if (type) this.#ready.delete(type)
      return type
    }
    if (this.stored(fields)) return undefined
    const job = this.create(fields, runAt, undefined, undefined)
    this.setState(job, state)
    this.place(job, 'ready')
    return job.type
  }

  /** Jobs of an add that are rows and nothing else: their ids are looked up only when one of them is taken. */
  set adding(jobs: readonly NewJob[]) {
    this.#added.jobs = jobs
  }

  erase(job: SqliteJob): void {
    this.#members.readAgain(job)
    this.set.erase(job)
  }

  touch(job: SqliteJob): void {
    this.set.jobs.touch(job)
  }

  setState(job: SqliteJob, state: JobState): void {
    this.set.types.count(job.type, job.state, -1)
    this.set.types.count(job.type, state, 1)
    job.state = state
    this.touch(job)
  }

  place(job: SqliteJob, place: Moves.Place): void {
    job.ready = place === 'ready' ? 1 : place === 'aside' ? 0 : undefined
    job.leased = place === 'leases'
    job.sweepable = place === 'ended'
    // A job that becomes ready may precede those that were read.
    if (place === 'ready') this.#ready.delete(job.type)
    else if (place === 'aside') this.#members.readAgain(job)
    this.touch(job)
  }

  report(job: SqliteJob, progress: Bytes | undefined, lines: readonly LogLine[]): void {
    this.set.parts.report(job, progress, lines)
  }

  nextReady(type: SqliteType): SqliteJob | undefined {
    return next(
      this.#ready,
      type,
      ({ ready }) => ready === 1,
      () => this.#readReady(type),
    )
  }

  nextLost(type: SqliteType): SqliteJob | undefined {
    return next(
      this.#lost,
      type,
      ({ leased }) => leased,
      () => this.#readLost(type),
    )
  }

  #readReady(type: SqliteType): ReadAhead {
    // A reader cannot write claims out: it reads so many jobs more.
    if (!this.set.isReader) this.set.writeOut()
    const slots = this.slots + this.set.claims.countOf(type)
    const { highestBelow, readyJobs, firstReady } = this.set.statements
    if (slots === 1) {
      const row = firstReady.get(type.tid) as unknown as Row | undefined
      if (!row) return nothing
      if (isDue(row, this.now)) return { jobs: [this.set.jobs.ofRow(row)], isLast: false }
      // The first of the highest priority is due later: those of a lower one may be due.
    }
    const found: SqliteJob[] = []
    let below = 1_000
    while (found.length < slots) {
      const highest = highestBelow.get(type.tid, below) as unknown as [number] | undefined
      if (!highest) break
      below = highest[0]
      found.push(...this.set.jobs.ofRows(readyJobs.all(type.tid, below, this.now, slots - found.length)))
    }
    return { jobs: found.toReversed(), isLast: found.length < slots }
  }

  #readLost(type: SqliteType): ReadAhead {
    this.set.jobs.flush()
    if (type.noLeaseEndBefore > this.now) return nothing
    const { firstLeaseEnd } = this.set.statements
    const first = firstLeaseEnd.get(type.tid) as unknown as [number] | undefined
    type.noLeaseEndBefore = Math.min(first ? first[0] : Infinity, this.set.claims.firstEnd(type))
    if (type.noLeaseEndBefore > this.now) return nothing
    this.set.writeOut()
    const found = this.set.jobs.ofRows(this.set.statements.lost.all(type.tid, this.now, lostPerRead))
    return { jobs: found.toReversed(), isLast: found.length < lostPerRead }
  }

  held(type: SqliteType): SqliteJob[] {
    this.set.writeOut()
    return this.set.jobs.ofRows(this.set.statements.held.all(type.tid))
  }

  // ── chains ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  jobsOf(chain: SqliteJob): readonly SqliteJob[] {
    if (chain.tailSeq === undefined) return [chain]
    this.set.jobs.flush()
    return [chain, ...this.set.jobs.ofRows(this.set.statements.jobsOfChain.all(chain.accepted))]
  }

  continueChain(chain: SqliteJob, job: SqliteJob): void {
    chain.tailSeq = job.accepted
    this.touch(chain)
  }

  /** Its row says which chain it belongs to, and no other row says so. */
  leaveChain(): void {}

  dependentsOf(chain: SqliteJob): Moves.Dependents {
    return chain.ownDependents
  }

  inheritDependents(chain: SqliteJob, replaced: SqliteJob): void {
    this.set.dependents.inherit(chain, replaced)
  }

  // ── groups, limits ─────────────────────────────────────────────────────────────────────────────────────────────────

  groupOf(type: SqliteType, key: string): SqliteGroup {
    return this.set.groups.of(type, key)
  }

  changeGroup(group: SqliteGroup, changes: Partial<GroupState>): void {
    this.#ring.change(group, changes)
    group.isNeeded = isGroupNeeded(group, this.now)
  }

  nextTurn(type: SqliteType): SqliteGroup | undefined {
    return this.#ring.first(type, this.slots)
  }

  turnsOf(type: SqliteType): readonly SqliteGroup[] {
    return this.#ring.all(type)
  }

  headOf(group: SqliteGroup): SqliteJob | undefined {
    return this.#members.headOf(group)
  }

  bestOf(group: SqliteGroup): SqliteJob | undefined {
    return this.#members.bestOf(group)
  }

  firstRunAt(group: SqliteGroup): number | undefined {
    return this.#members.firstRunAt(group)
  }

  /** The members of an unordered group are its jobs that wait: their places say so. */
  addMember(job: SqliteJob): void {
    if (job.membership !== 'unordered') this.#members.add(job)
  }

  removeMember(job: SqliteJob): void {
    if (job.membership !== 'unordered') this.#members.remove(job)
  }

  flowOf({ flow }: SqliteType): Flow | undefined {
    return flow
  }

  changeFlow(type: SqliteType, changes: Partial<Flow>): void {
    this.set.types.setFlow(type, { ...(type.flow ?? emptyFlow), ...changes })
  }

  runningOf(type: SqliteType): number {
    return this.set.types.countOf(type, ['processing'])
  }

  waitingOf(type: SqliteType): number {
    return this.set.types.countOf(type, ['scheduled', 'queued', 'failing', 'blocked'])
  }

  // ── keys ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  markOf(type: SqliteType, key: string): Moves.Mark | undefined {
    return this.set.keys.find(type, key)
  }

  holdKey(job: SqliteJob, mark: Moves.MarkFields): Moves.Mark {
    return this.set.keys.hold(job.type, mark)
  }

  dropKey(type: SqliteType, { key }: Moves.Mark): void {
    this.set.keys.drop(type, key)
  }

  // ── hints ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  wake(type: SqliteType): void {
    this.#signals.wake(type)
  }

  unwake(type: SqliteType): void {
    this.#signals.unwake(type)
  }

  done(chain: SqliteJob): void {
    this.#signals.done(chain)
  }

  /** done() of a chain of one job that has completed, which is not in memory. */
  completed(chain: Pick<SqliteJob, 'type' | 'id'>): void {
    this.#signals.completed(chain)
  }

  abort(job: SqliteJob): void {
    this.#signals.abort(job)
  }

  event(job: Moves.EventSource, event: JobEvent['event'], attempt: number): void {
    this.#signals.event(job, event, attempt, this.now)
  }

  hasListeners({ listeners }: SqliteType): boolean {
    return listeners.events.size > 0
  }

  /** Notifies the listeners of this process, after the commit. Returns the hints for other processes. */
  send(): Signal[] {
    return this.#signals.send()
  }
}

/** Jobs that were read from an index together, the first one last. */
interface ReadAhead {
  readonly jobs: SqliteJob[]
  /** The index has no more of them. */
  readonly isLast: boolean
}

const nothing: ReadAhead = { jobs: [], isLast: true }

/** The first job that still has its place. Reads on when none of those that were read has. */
function next(
  read: Map<SqliteType, ReadAhead>,
  type: SqliteType,
  isInPlace: (job: SqliteJob) => boolean,
  readOn: () => ReadAhead,
): SqliteJob | undefined {
  for (;;) {
    const ahead = read.get(type)
    for (let job = ahead?.jobs.at(-1); job; job = ahead!.jobs.at(-1)) {
      if (isInPlace(job)) return job
      ahead!.jobs.pop()
    }
    if (ahead?.isLast) return undefined
    read.set(type, readOn())
  }
}
