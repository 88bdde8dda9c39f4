// One call on the data of the memory driver: jobs change in place, and move between its lists and heaps.
// Longer than others: it has a method for each step of the rules (rules/move.ts).

import type { Bytes, JobEvent, JobRef, JobState, LogLine, NewJob } from '../storage.ts'
import { markFieldsOf, outlivesJob } from '../rules/job/key.ts'
import { appendLines, unstoredLines } from '../rules/job/report.ts'
import type * as Moves from '../rules/move.ts'
import { emptyFlow, type Flow, type GroupState, isGroupNeeded } from '../rules/flow.ts'
import { type Data, MemoryJob, type Mark, type TypeData } from './data.ts'
import { type Group, isLingering, newGroup } from './group.ts'
import { enter, enterHeap, leaveHeap, promote, putIn } from './place.ts'
import type { Recorder } from './recorder.ts'
import { Signals } from '../rules/signals.ts'

/** Collects the signals of a call. */
export type SignalSink = Pick<Signals, 'wake' | 'unwake' | 'done' | 'abort' | 'event'> & { send(): unknown }

export class MemoryMove implements Moves.Move {
  readonly data: Data
  readonly now: number
  readonly #signals: SignalSink
  readonly #recorder: Recorder | undefined
  #kept: Set<Moves.Job> | undefined
  /** Of the last job that was created: the next one is nearly always of this type, too. */
  #lastType: TypeData | undefined

  constructor(data: Data, now: number, signals: SignalSink = new Signals(), recorder?: Recorder) {
    this.data = data
    this.now = now
    this.#signals = signals
    this.#recorder = recorder
  }

  get kept(): Set<Moves.Job> {
    return (this.#kept ??= new Set())
  }

  get lastNumber(): number {
    return this.data.lastNumber
  }

  takeNumber(): number {
    return ++this.data.lastNumber
  }

  typeOf(name: string): TypeData | undefined {
    return this.data.types.get(name)
  }

  // ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  stored({ type, id }: JobRef): MemoryJob | undefined {
    const job = this.data.types.get(type)?.jobs.get(id)
    if (job) this.#recorder?.seen(job)
    return job
  }

  /** All jobs are in memory. */
  loadTogether(): void {}

  create(fields: NewJob, runAt: number, after: MemoryJob | undefined, origin: MemoryJob | undefined): MemoryJob {
    this.#recorder?.creates(fields.type, fields.id)
    const type = this.data.ensureType(fields.type)
    const job = new MemoryJob(type, fields, this.now, runAt, this.takeNumber(), after, origin)
    if (fields.expiresInMs !== undefined) this.data.setDeadline(job, this.now + fields.expiresInMs)
    // In no list yet: wait() or blockJob() follows in the same call.
    type.counts.blocked++
    type.jobs.set(job)
    if (fields.group) job.group = this.groupOf(type, fields.group.key)
    return job
  }

  createWaiting(fields: NewJob, runAt: number, state: 'queued' | 'scheduled'): TypeData | undefined {
    const type = this.#lastType?.name === fields.type ? this.#lastType : this.data.ensureType(fields.type)
    this.#lastType = type
    // The recorder is told before anything changes. Without one, a single search decides and adds.
    if (this.#recorder) {
      if (type.jobs.get(fields.id)) return undefined
      this.#recorder.creates(fields.type, fields.id)
    }
    const job = new MemoryJob(type, fields, this.now, runAt, this.data.lastNumber + 1)
    if (!type.jobs.add(job)) return undefined
    this.takeNumber()
    job.state = state
    if (fields.expiresInMs !== undefined) this.data.setDeadline(job, this.now + fields.expiresInMs)
    type.counts[state]++
    enter(job, state === 'queued' ? type.readyList(job.priority) : type.later)
    return type
  }

  erase(job: MemoryJob): void {
    this.#recorder?.changed(job)
    const { type, id, mark } = job
    type.counts[job.state]--
    type.jobs.delete(id)
    if (mark?.job === job) mark.job = undefined
    this.prune(type)
  }

  touch(job: MemoryJob): void {
    this.#recorder?.changed(job)
  }

  setState(job: MemoryJob, state: JobState): void {
    this.#recorder?.changed(job)
    job.type.counts[job.state]--
    job.type.counts[state]++
    job.state = state
  }

  place(job: MemoryJob, place: Moves.Place): void {
    this.#recorder?.changed(job)
    this.putIn(job, place)
  }

  /** As place(), but not recorded: that a job is due follows from the clock, and no driver stores it. */
  putIn(job: MemoryJob, place: Moves.Place): void {
    putIn(this.data, job, place, this.now)
  }

  report(job: MemoryJob, progress: Bytes | undefined, lines: readonly LogLine[]): void {
    this.#recorder?.changed(job)
    if (progress !== undefined) job.progress = progress
    const added = unstoredLines(job.log?.lines.at(-1), lines)
    if (added.length > 0) job.log = appendLines(job.log, added)
  }

  nextReady(type: TypeData): MemoryJob | undefined {
    promote(this.data, type, this.now)
    for (const { jobs } of type.ready) {
      const job = jobs.peek()
      if (!job) continue
      this.#recorder?.seen(job)
      return job
    }
    return undefined
  }

  nextLost(type: TypeData): MemoryJob | undefined {
    const job = type.leases.peek()
    if (!job || job.lease!.until > this.now) return undefined
    this.#recorder?.seen(job)
    return job
  }

  // ── chains ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  jobsOf(chain: MemoryJob): readonly MemoryJob[] {
    if (this.#recorder) for (const job of chain.jobs ?? []) this.#recorder.seen(job)
    return chain.jobs ?? [chain]
  }

  continueChain(chain: MemoryJob, job: MemoryJob): void {
    chain.jobs ??= [chain]
    chain.jobs.push(job)
  }

  leaveChain(job: MemoryJob): void {
    const { chain } = job
    chain.jobs = chain.jobs!.filter((other) => other !== job)
  }

  dependentsOf(chain: MemoryJob): Set<Moves.Job> {
    return (chain.dependents ??= new Set())
  }

  inheritDependents(chain: MemoryJob, replaced: MemoryJob): void {
    chain.dependents = replaced.dependents
  }

  // ── groups ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  groupOf(type: TypeData, key: string): Group {
    return type.groups.get(key) ?? newGroup(type, key)
  }

  changeGroup(group: Group, changes: Partial<GroupState>): void {
    this.#recorder?.group(group)
    const { type, key } = group
    if (group.heapIndex >= 0) type.ring.remove(group)
    Object.assign(group, changes)
    if (group.turnAt !== undefined) type.ring.push(group)
    if (!isGroupNeeded(group, this.now)) {
      type.groups.delete(key)
      return
    }
    type.groups.set(key, group)
    if (isLingering(group)) this.data.lingering.add(group)
  }

  nextTurn(type: TypeData): Group | undefined {
    const group = type.ring.peek()
    return group && group.turnAt! <= this.now ? group : undefined
  }

  turnsOf(type: TypeData): Group[] {
    return [...type.ring.prefix(({ turnAt }) => turnAt! <= this.now)]
  }

  headOf(group: Group): MemoryJob | undefined {
    return this.#firstOf(group.members)
  }

  bestOf(group: Group): MemoryJob | undefined {
    promote(this.data, group.type, this.now)
    return this.#firstOf(group.members)
  }

  firstRunAt(group: Group): number | undefined {
    promote(this.data, group.type, this.now)
    // Which of the due jobs was due first makes no difference.
    return (group.members.peek() ?? group.later.peek())?.job.runAt
  }

  #firstOf(members: Group['members']): MemoryJob | undefined {
    const job = members.peek()?.job
    if (job) this.#recorder?.seen(job)
    return job
  }

  addMember(job: MemoryJob): void {
    job.group = this.groupOf(job.type, job.group!.key)
    if (job.membership !== 'unordered') enterHeap(job.member!, job.group.members)
  }

  removeMember(job: MemoryJob): void {
    leaveHeap(job.member!)
  }

  flowOf(type: TypeData): Flow | undefined {
    return type.flow
  }

  changeFlow(type: TypeData, changes: Partial<Flow>): void {
    this.#recorder?.flow(type)
    type.flow = { ...(type.flow ?? emptyFlow), ...changes }
  }

  /** Deletes a flow that is not needed any more. */
  dropFlow(type: TypeData): void {
    this.#recorder?.flow(type)
    type.flow = undefined
    this.prune(type)
  }

  runningOf({ counts }: TypeData): number {
    return counts.processing
  }

  waitingOf({ counts }: TypeData): number {
    return counts.scheduled + counts.queued + counts.failing + counts.blocked
  }

  // ── keys ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  markOf(type: TypeData, key: string): Mark | undefined {
    return type.keys.get(key)
  }

  holdKey(job: MemoryJob, fields: Moves.MarkFields): Mark {
    const { key, mode, until } = fields
    const { type } = job
    const held = type.keys.get(key)
    if (held) this.dropKey(type, held)
    const mark: Mark = { ...markFieldsOf(fields), type, job, heapIndex: -1 }
    this.#recorder?.key(type, key)
    if (outlivesJob(mode) && until !== Infinity) this.data.marks.push(mark)
    type.keys.set(key, mark)
    return mark
  }

  dropKey(type: TypeData, mark: Mark): void {
    this.#recorder?.key(type, mark.key)
    if (mark.heapIndex >= 0) this.data.marks.remove(mark)
    type.keys.delete(mark.key)
  }

  // ── hints ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  wake(type: TypeData): void {
    this.#signals.wake(type)
  }

  unwake(type: TypeData): void {
    this.#signals.unwake(type)
  }

  done(chain: MemoryJob): void {
    this.#signals.done(chain)
  }

  abort(job: MemoryJob): void {
    this.#signals.abort(job)
  }

  event(job: Moves.EventSource, event: JobEvent['event'], attempt: number): void {
    this.#signals.event(job, event, attempt, this.now)
  }

  hasListeners({ listeners }: TypeData): boolean {
    return listeners.events.size > 0
  }

  /** After the call. */
  send(): void {
    this.#signals.send()
  }

  /** Deletes an unused type, but not while the call may be undone. */
  prune(type: TypeData): void {
    this.#lastType = undefined
    if (!this.#recorder) this.data.prune(type, this.now)
  }
}
