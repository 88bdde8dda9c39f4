// One call on the rows of a working set. Where a job stands is a few of its columns; the partial indexes over them are the lists
// of claimable jobs, leases and expired records.

import type { Bytes, JobEvent, JobRef, JobState, LogLine, NewJob, Signal } from '../../storage.ts'
import { type Flow, type GroupState, isGroupNeeded } from '../../rules/flow.ts'
import type * as Moves from '../../rules/move.ts'
import { newRowJob } from '../../rows/new-job.ts'
import { isTerminal } from '../../rules/job/states.ts'
import { Signals } from '../../rules/signals.ts'
import { firstProvisional, readyCodes } from '../sql/job-columns.ts'
import type { PostgresGroup } from './group.ts'
import type { PostgresJob } from './job.ts'
import type { PostgresType } from './type-registry.ts'
import { WaitingJobs } from './waiting-jobs.ts'
import type { WorkingSet } from './working-set.ts'

export class PostgresMove implements Moves.Move {
  readonly set: WorkingSet
  readonly now: number
  readonly kept = new Set<Moves.Job>()
  readonly #signals = new Signals(true)
  /** Events of watched types, which reach every listener by messages. */
  readonly #published = new Map<string, JobEvent[]>()
  /** Jobs that became claimable in this call. */
  readonly #arrived = new Map<PostgresType, Set<PostgresJob>>()
  readonly #due = new Map<PostgresType, WaitingJobs>()
  /** The same of unordered groups. */
  readonly #arrivedIn = new Map<PostgresGroup, Set<PostgresJob>>()
  readonly #best = new Map<PostgresGroup, WaitingJobs>()
  /** By how much this call has changed the numbers of jobs in processing and waiting, by type. */
  readonly #running = new Map<PostgresType, number>()
  readonly #waiting = new Map<PostgresType, number>()
  readonly #lost = new Map<PostgresType, { jobs: PostgresJob[]; at: number }>()

  constructor(set: WorkingSet, now: number) {
    this.set = set
    this.now = now
  }

  /** The number before the next one that this call takes. */
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

  loadTogether(refs: readonly JobRef[], part: 'dependents' | 'all'): void {
    this.set.lockTogether(refs, part)
  }

  create(fields: NewJob, runAt: number, after: PostgresJob | undefined, origin: PostgresJob | undefined): PostgresJob {
    const type = this.set.typeOf(fields.type)!
    const at = { accepted: this.takeNumber(), now: this.now, runAt }
    const job = newRowJob(this.set, type, fields, at, after, origin)
    this.set.enter(job)
    add(this.#waiting, type, 1)
    return job
  }

  createWaiting(fields: NewJob, runAt: number, state: 'queued' | 'scheduled'): PostgresType | undefined {
    if (this.stored(fields)) return undefined
    const job = this.create(fields, runAt, undefined, undefined)
    this.setState(job, state)
    this.place(job, 'ready')
    return job.type
  }

  erase(job: PostgresJob): void {
    this.set.erase(job)
  }

  touch(job: PostgresJob): void {
    this.set.touch(job)
  }

  setState(job: PostgresJob, state: JobState): void {
    this.touch(job)
    this.#count(job, -1)
    job.state = state
    this.#count(job, 1)
  }

  #count({ type, state }: PostgresJob, by: number): void {
    if (state === 'processing') add(this.#running, type, by)
    else if (!isTerminal(state)) add(this.#waiting, type, by)
  }

  place(job: PostgresJob, place: Moves.Place): void {
    this.touch(job)
    // It is claimed. A lease that is extended was there before.
    if (place === 'leases' && !job.leased) this.set.readBlockers(job)
    job.ready = place === 'ready' ? readyCodes.ready : place === 'aside' ? readyCodes.aside : undefined
    job.leased = place === 'leases'
    job.sweepable = place === 'ended'
    if (place === 'ready') arrive(this.#arrived, job.type, job)
    else if (place === 'aside' && job.membership === 'unordered') {
      arrive(this.#arrivedIn, this.set.groupOf(job.type, job.groupKey!), job)
    }
  }

  report(job: PostgresJob, progress: Bytes | undefined, lines: readonly LogLine[]): void {
    this.set.report(job, { progress, lines })
  }

  nextReady(type: PostgresType): PostgresJob | undefined {
    let due = this.#due.get(type)
    if (!due) {
      due = new WaitingJobs(this.set.dueOf(type), isClaimable, () => this.set.readMoreDue(type))
      this.#due.set(type, due)
    }
    return due.first(this.now, this.#arrived.get(type))
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

  /** Its row says which chain it belongs to, and no other row says so. */
  leaveChain(): void {}

  dependentsOf(chain: PostgresJob): Moves.Dependents {
    return chain.ownDependents
  }

  inheritDependents(chain: PostgresJob, replaced: PostgresJob): void {
    this.set.dependents.inherit(chain, replaced)
  }

  // ── groups, keys ───────────────────────────────────────────────────────────────────────────────────────────────────

  groupOf(type: PostgresType, key: string): PostgresGroup {
    return this.set.groupOf(type, key)
  }

  headOf(group: PostgresGroup): PostgresJob | undefined {
    return this.set.groups.headOf(group)
  }

  /** A live job of a group is a member by the index over `grp`. */
  addMember(): void {}

  removeMember(): void {}

  changeGroup(group: PostgresGroup, changes: Partial<GroupState>): void {
    Object.assign(group, changes)
    group.fate = isGroupNeeded(group, this.now) ? 'kept' : 'erased'
  }

  nextTurn(type: PostgresType): PostgresGroup | undefined {
    return this.set.groups.nextTurn(type, this.now)
  }

  turnsOf(type: PostgresType): PostgresGroup[] {
    return this.set.groups.turnsOf(type, this.now)
  }

  bestOf(group: PostgresGroup): PostgresJob | undefined {
    let best = this.#best.get(group)
    if (!best) {
      const { groups } = this.set
      best = new WaitingJobs(groups.bestOf(group), isAside, () => groups.readMoreBest(group))
      this.#best.set(group, best)
    }
    return best.first(this.now, this.#arrivedIn.get(group))
  }

  firstRunAt(group: PostgresGroup): number | undefined {
    return this.set.groups.firstRunAt(group, this.now)
  }

  flowOf(type: PostgresType): Flow | undefined {
    return this.set.flows.of(type)
  }

  changeFlow(type: PostgresType, changes: Partial<Flow>): void {
    this.set.flows.change(type, changes)
  }

  /** Only claims ask: they have counted before. */
  runningOf(type: PostgresType): number {
    return this.set.loaded.running.get(type.tid)! + (this.#running.get(type) ?? 0)
  }

  waitingOf(type: PostgresType): number {
    const { depths, wanted } = this.set.loaded
    const stored = depths.get(type.tid)
    if (stored !== undefined) return stored + (this.#waiting.get(type) ?? 0)
    wanted.depths.set(type.tid, -1)
    return this.set.miss()
  }

  markOf(type: PostgresType, key: string): Moves.Mark | undefined {
    return this.set.markOf(type, key)
  }

  holdKey(job: PostgresJob, mark: Moves.MarkFields): Moves.Mark {
    return this.set.keys.hold(job.type, mark)
  }

  dropKey(type: PostgresType, { key }: Moves.Mark): void {
    this.set.keys.drop(type, key)
  }

  // ── hints ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  wake(type: PostgresType): void {
    this.#signals.wake(type)
  }

  unwake(type: PostgresType): void {
    this.#signals.unwake(type)
  }

  done(chain: PostgresJob): void {
    this.#signals.done(chain)
  }

  abort(job: PostgresJob): void {
    this.#signals.abort(job)
  }

  hasListeners(type: PostgresType): boolean {
    return this.set.loaded.watched.has(type.tid) || type.listeners.events.size > 0
  }

  event(job: Moves.EventSource, event: JobEvent['event'], attempt: number): void {
    const { tid } = job.type as PostgresType
    if (!this.set.loaded.watched.has(tid)) return this.#signals.event(job, event, attempt, this.now)
    const { id, type, lease } = job
    const entry: JobEvent = { event, id, attempt, at: this.now }
    const events = this.#published.get(type.name)
    const full = lease?.label === undefined ? entry : { ...entry, label: lease.label }
    if (events) events.push(full)
    else this.#published.set(type.name, [full])
  }

  /** Jobs that became claimable in this call, due or not. */
  *arrivals(): Iterable<PostgresJob> {
    for (const jobs of this.#arrived.values()) for (const job of jobs) if (isClaimable(job)) yield job
  }

  /** Hints for other processes, to be sent with the commit. */
  hintsForOthers(): Signal[] {
    return this.#signals.hintsForOthers()
  }

  /** Events for the listeners of all processes, to be sent with the commit. */
  eventsForAll(): Signal[] {
    return [...this.#published].map(([type, events]) => ({ kind: 'events', type, events }))
  }

  /** Notifies the listeners of this process. Call it after the commit. */
  send(): void {
    this.#signals.send()
  }
}

const isClaimable = (job: PostgresJob): boolean => job.ready === readyCodes.ready && !job.isErased

const isAside = (job: PostgresJob): boolean => job.ready === readyCodes.aside && !job.isErased

function arrive<Key>(arrived: Map<Key, Set<PostgresJob>>, key: Key, job: PostgresJob): void {
  const jobs = arrived.get(key)
  if (jobs) jobs.add(job)
  else arrived.set(key, new Set([job]))
}

function add(counts: Map<PostgresType, number>, type: PostgresType, by: number): void {
  counts.set(type, (counts.get(type) ?? 0) + by)
}
