// A call on the rows of a session. Where a job stands is a few columns of it, and the indexes over them are the lines.

import type { JobEvent, JobRef, JobState, NewJob, Signal } from '../../storage.ts'
import type * as Moves from '../../rules/move.ts'
import { Signals } from '../../rules/signals.ts'
import { newRowJob } from '../../rows/job.ts'
import type { SqliteJob } from './job.ts'
import type { SqliteGroup } from './group.ts'
import type { Session } from './session.ts'
import type { SqliteType } from './type.ts'

/** Lost leases read at once. */
const lostAtOnce = 100

export class SqliteMove implements Moves.Move {
  readonly session: Session
  readonly now: number
  readonly kept = new Set<Moves.Job>()
  /** Jobs read at once for a claim: as many as it has slots. */
  slots = 1
  readonly #signals = new Signals(true)
  readonly #line = new Map<SqliteType, Stretch>()
  readonly #lost = new Map<SqliteType, Stretch>()

  constructor(session: Session, now: number) {
    this.session = session
    this.now = now
  }

  get lastNumber(): number {
    return this.session.lastNumber
  }

  takeNumber(): number {
    return this.session.takeNumber()
  }

  typeOf(name: string): SqliteType | undefined {
    return this.session.typeOf(name)
  }

  // ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  stored(ref: JobRef): SqliteJob | undefined {
    return this.session.stored(ref)
  }

  create(fields: NewJob, runAt: number, after: SqliteJob | undefined, origin: SqliteJob | undefined): SqliteJob {
    const type = this.session.typeFor(fields.type)
    const at = { accepted: this.takeNumber(), now: this.now, runAt }
    const job = newRowJob(this.session, type, fields, at, after, origin)
    this.session.enter(job)
    return job
  }

  createWaiting(fields: NewJob, runAt: number, state: 'queued' | 'scheduled'): SqliteJob | undefined {
    if (this.stored(fields)) return undefined
    const job = this.create(fields, runAt, undefined, undefined)
    this.setState(job, state)
    this.place(job, 'ready')
    return job
  }

  erase(job: SqliteJob): void {
    this.session.erase(job)
  }

  touch(job: SqliteJob): void {
    this.session.touch(job)
  }

  setState(job: SqliteJob, state: JobState): void {
    this.session.count(job.type, job.state, -1)
    this.session.count(job.type, state, 1)
    job.state = state
    this.touch(job)
  }

  place(job: SqliteJob, place: Moves.Place): void {
    job.ready = place === 'ready' ? 1 : place === 'aside' ? 0 : undefined
    job.leased = place === 'leases'
    job.sweepable = place === 'ended'
    // Who comes into the line may come before those who were read from it.
    if (place === 'ready') this.#line.delete(job.type)
    this.touch(job)
  }

  nextReady(type: SqliteType): SqliteJob | undefined {
    return next(
      this.#line,
      type,
      ({ ready }) => ready === 1,
      () => this.#readLine(type),
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

  #readLine(type: SqliteType): Stretch {
    this.session.flush()
    const { highestBelow, inLine } = this.session.statements
    const found: SqliteJob[] = []
    let below = 1_000
    while (found.length < this.slots) {
      const highest = highestBelow.get(type.tid, below) as unknown as [number] | undefined
      if (!highest) break
      below = highest[0]
      found.push(...this.session.jobsOfRows(inLine.all(type.tid, below, this.now, this.slots - found.length)))
    }
    return { jobs: found.toReversed(), isLast: found.length < this.slots }
  }

  #readLost(type: SqliteType): Stretch {
    this.session.flush()
    const found = this.session.jobsOfRows(this.session.statements.lost.all(type.tid, this.now, lostAtOnce))
    return { jobs: found.toReversed(), isLast: found.length < lostAtOnce }
  }

  held(type: SqliteType): SqliteJob[] {
    this.session.flush()
    return this.session.jobsOfRows(this.session.statements.held.all(type.tid))
  }

  // ── chains ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  jobsOf(chain: SqliteJob): readonly SqliteJob[] {
    if (chain.tailSeq === undefined) return [chain]
    this.session.flush()
    return [chain, ...this.session.jobsOfRows(this.session.statements.jobsOfChain.all(chain.accepted))]
  }

  continueChain(chain: SqliteJob, job: SqliteJob): void {
    chain.tailSeq = job.accepted
    this.touch(chain)
  }

  dependentsOf(chain: SqliteJob): Moves.Dependents {
    return chain.ownDependents
  }

  inheritDependents(chain: SqliteJob, replaced: SqliteJob): void {
    this.session.inheritDependents(chain, replaced)
  }

  // ── groups, keys ───────────────────────────────────────────────────────────────────────────────────────────────────

  groupOf(type: SqliteType, key: string): SqliteGroup {
    return this.session.groupOf(type, key)
  }

  headOf({ type, key }: SqliteGroup): SqliteJob | undefined {
    this.session.flush()
    return this.session.jobsOfRows(this.session.statements.headOfGroup.all(type.tid, key))[0]
  }

  /** A live job of a group is its member, by the index. */
  addMember(): void {}

  removeMember(): boolean {
    return true
  }

  keepGroup(group: SqliteGroup, isEmpty: boolean): void {
    const { type, key, runningSeq, placedSeq, paused } = group
    const { setGroup, eraseGroup } = this.session.statements
    if (isEmpty && !paused) eraseGroup.run(type.tid, key)
    else setGroup.run(type.tid, key, runningSeq ?? null, placedSeq ?? null, paused?.since ?? null, paused?.by ?? null)
  }

  markOf(type: SqliteType, key: string): Moves.Mark | undefined {
    return this.session.markOf(type, key)
  }

  holdKey(job: SqliteJob, mark: Omit<Moves.Mark, 'job'>): Moves.Mark {
    return this.session.holdKey(job.type, mark)
  }

  dropKey(type: SqliteType, { key }: Moves.Mark): void {
    this.session.dropKey(type, key)
  }

  // ── hints ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  wake(type: SqliteType): void {
    this.#signals.wake(type)
  }

  done(chain: SqliteJob): void {
    this.#signals.done(chain)
  }

  abort(job: SqliteJob): void {
    this.#signals.abort(job)
  }

  event(job: SqliteJob, event: JobEvent['event'], attempt: number): void {
    this.#signals.event(job, event, attempt, this.now)
  }

  /** After the commit. */
  send(): Signal[] {
    return this.#signals.send()
  }
}

/** Jobs read from a line at once, the first at the end. */
interface Stretch {
  readonly jobs: SqliteJob[]
  /** There was no more to read. */
  readonly isLast: boolean
}

/** The first that still stands there; reads on when all that was read is gone. */
function next(
  read: Map<SqliteType, Stretch>,
  type: SqliteType,
  standsThere: (job: SqliteJob) => boolean,
  readOn: () => Stretch,
): SqliteJob | undefined {
  for (;;) {
    const stretch = read.get(type)
    for (let job = stretch?.jobs.at(-1); job; job = stretch!.jobs.at(-1)) {
      if (standsThere(job)) return job
      stretch!.jobs.pop()
    }
    if (stretch?.isLast) return undefined
    read.set(type, readOn())
  }
}
