// The view: the directory as people read it with ls and cat. It is written after the commits, in the background: always the
// newest state, and only of jobs that changed. No call reads it. While there are many commits it waits, up to half a second:
// a job that ends meanwhile is written once, and not for each of its steps.
//
// Each process writes what its own commits changed. A process that writes while another commits could leave an old state
// behind. So after writing it catches up with the log, and writes again what other processes changed meanwhile.

import { join } from 'node:path'
import { atMost, type Clock } from '../../../clock.ts'
import type { MemoryJob } from '../../memory/data.ts'
import type { Flow } from '../../rules/flow.ts'
import type { JobRef } from '../../storage.ts'
import type { Log } from '../log/log.ts'
import type { Changes } from '../replica/changes.ts'
import type { Before, Recording } from '../replica/recording.ts'
import type { Replica } from '../replica/replica.ts'
import { type Extra, extraBytes, extraPath } from './extra-files.ts'
import { FileWriter } from './file-writer.ts'
import { seenOf, viewFolders } from './job-files.ts'
import { JobWriter } from './job-writer.ts'
import { Pace } from './pace.ts'
import { type Pending, PendingJobs, type Shown } from './pending-jobs.ts'
import { createMarker } from './repair.ts'
import { ViewRepair } from './view-repair.ts'

/** The part of the journal that the view uses. */
export interface Source {
  readonly replica: Replica
  /** Catches up with the log. */
  look(): Promise<void>
  isUnderWay(job: JobRef): boolean
}

/** Jobs that are written between two looks at the log. */
const batch = 200

export class View {
  readonly #log: Log
  readonly #journal: Source
  readonly #pace: Pace
  readonly #files: FileWriter
  readonly #jobWriter: JobWriter
  readonly #jobs = new PendingJobs()
  readonly #extras = new Map<string, Extra>()
  /** Everything was deleted, and the files are still there. */
  #isCleared = false
  #writing: Promise<void> | undefined
  #isInBatch = false
  #isLooking = false
  /** What was written since the last look, and the names of what other processes have changed since. */
  #written: Shown[] = []
  readonly #changedByOthers = new Set<string>()
  /** Commits wait until fewer jobs are pending. */
  #blocking: PromiseWithResolvers<void> | undefined
  readonly #repair: ViewRepair
  #removeMarker: ((isComplete: boolean) => void) | undefined

  /** @param hasRoom false while the disk is full and its last room is for commits */
  constructor(log: Log, clock: Clock, journal: Source, hasRoom: () => boolean) {
    this.#log = log
    this.#journal = journal
    this.#pace = new Pace(clock)
    this.#files = new FileWriter(log)
    this.#jobWriter = new JobWriter({ files: this.#files, hasRoom, onSkipped: () => (this.#repair.isNeeded = true) })
    this.#repair = new ViewRepair({
      log,
      clock,
      journal,
      hasRoom,
      yield: () => this.#pace.yield(),
      isPending: (ref) => this.#jobs.has(ref),
      show: (job) => this.#enqueue({ type: job.type.name, id: job.id }, { job, seen: undefined }),
      showExtra: (extra) => this.#enqueueExtra(extra),
      remove: (path) => this.#files.put(path, undefined),
      write: () => this.#hasWork && this.#write(),
    })
  }

  /** Writes what killed processes had not shown, or this one could not write: in the background. */
  repair(): void {
    this.#repair.begin()
  }

  /** Enqueues what a commit of this process changed. */
  committed(recording: Recording): void {
    if (recording.cleared) {
      this.#forget()
      this.#isCleared = true
    }
    this.#repair.committed(recording)
    for (const [type, ids] of recording.jobs) {
      for (const [id, before] of ids) if (!before || before.changed) this.#enqueueChanged({ type, id }, before)
    }
    for (const [type, keys] of recording.keys) {
      for (const name of keys.keys()) this.#enqueueExtra({ kind: 'key', type: type.name, name })
    }
    for (const [type, groups] of recording.groups) {
      for (const name of groups.keys()) this.#enqueueExtra({ kind: 'group', type, name })
    }
    for (const [type, before] of recording.flows) this.#enqueueFlow(type, before)
    for (const type of recording.pauses.keys()) this.#enqueueExtra({ kind: 'pause', type, name: '' })
    for (const name of recording.entries.keys()) this.#enqueueExtra({ kind: 'entry', type: '', name })
    this.#pace.changed()
    this.#write()
  }

  /** Notes what a commit of another process changed. That process shows it. */
  followed({ jobs, erased }: Changes): void {
    this.#repair.followed(jobs)
    if (this.#written.length === 0 && !this.#isInBatch) return
    for (const ref of [...jobs, ...erased]) this.#changedByOthers.add(nameOf(ref))
  }

  /** Backpressure: what commits wait for while the view is far behind. Undefined if it is not. */
  backpressure(): Promise<void> | undefined {
    // A look at the log is a call itself: it would wait for the calls that wait for it.
    if (this.#jobs.size <= this.#pace.mostPending || !this.#writing || this.#isLooking) return undefined
    this.#blocking ??= Promise.withResolvers()
    this.#pace.hurry()
    return this.#blocking.promise
  }

  /** Shows everything, within `ms`. What is left is shown by the next process that opens the directory. */
  async close(clock: Clock, ms: number): Promise<void> {
    const isComplete = await atMost(clock, ms, this.#complete())
    this.#repair.isNeeded ||= !isComplete
    this.#repair.end()
    this.#forget()
    await this.#repair.running
    await this.#writing
    this.#files.removeEmptyFolders()
    this.#removeMarker?.(!this.#repair.isNeeded)
    this.#removeMarker = undefined
  }

  async #complete(): Promise<void> {
    const underWay = (): Promise<void> | undefined => this.#repair.running ?? this.#writing
    for (; underWay(); await underWay()) this.#pace.hurry(true)
  }

  /** Resolves once what is pending now is shown. */
  async catchUp(): Promise<void> {
    this.#pace.hurry()
    await this.#repair.running
    await this.#writing
  }

  /** Frees the room of spare files. False if there are none. */
  giveUpSpare(): boolean {
    return this.#files.giveUpSpare()
  }

  #enqueueChanged(ref: JobRef, before: Before | null): void {
    const job = this.#stored(ref)
    if (before) this.#enqueue(ref, { job: before.job, seen: before.changing })
    else if (job) this.#enqueue(ref, { job, seen: undefined })
  }

  /** A job that is pending already keeps its entry: that has what is on the disk. */
  #enqueue(ref: JobRef, shown: Shown): void {
    if (!this.#jobs.has(ref)) this.#jobs.set(ref, { ...shown, since: this.#pace.now })
    const { group, chain } = shown.job
    if (group) this.#enqueueExtra({ kind: 'group', type: ref.type, name: group.key })
    if (chain !== shown.job || chain.jobs || chain.dependents) {
      this.#enqueueExtra({ kind: 'chain', type: chain.type.name, name: chain.id })
    }
  }

  /** Of a flow only the slow-down is shown. The rest changes with every claim, and says little to people. */
  #enqueueFlow(type: string, before: Flow | undefined): void {
    const flow = this.#journal.replica.data.types.get(type)?.flow
    if (flow?.slowedUntil !== before?.slowedUntil) this.#enqueueExtra({ kind: 'slow', type, name: '' })
  }

  #enqueueExtra(extra: Extra): void {
    this.#extras.set(extraPath(extra), extra)
  }

  #forget(): void {
    this.#jobs.clear()
    this.#extras.clear()
    this.#written = []
    this.#changedByOthers.clear()
  }

  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
      this.#unblock()
      // Enqueued at the moment in which the last write ended.
      if (this.#hasWork && !this.#repair.isNeeded) this.#write()
    })
  }

  get #hasWork(): boolean {
    return this.#isCleared || this.#jobs.size > 0 || this.#extras.size > 0
  }

  #unblock(): void {
    this.#blocking?.resolve()
    this.#blocking = undefined
    this.#pace.relax()
  }

  async #writeAll(): Promise<void> {
    try {
      this.#removeMarker ??= createMarker(this.#log)
      while (this.#hasWork) {
        await this.#pace.due(this.#jobs.oldest())
        if (this.#isCleared) await this.#removeAll()
        await this.#writeBatch()
        if (this.#blocking && this.#jobs.size > this.#pace.mostPending && this.#pace.mayBlock) continue
        this.#unblock()
        await this.#lookAgain()
      }
    } catch {
      this.#isInBatch = false
      // Most likely a full disk. The next process that opens the directory shows what is missing.
      this.#repair.isNeeded = true
      this.#forget()
    }
  }

  async #writeBatch(): Promise<void> {
    this.#isInBatch = true
    const jobs = this.#jobs.take(this.#pace.takesUntil, batch)
    const extras = [...this.#extras.values()]
    this.#extras.clear()
    for (const pending of jobs) {
      this.#writeJob(pending)
      await this.#pace.yield()
    }
    for (const extra of extras) {
      this.#files.put(extraPath(extra), extraBytes(this.#journal.replica, extra))
      await this.#pace.yield()
    }
    this.#isInBatch = false
  }

  #writeJob(pending: Pending): void {
    const { job: was, seen: before } = pending
    const ref = { type: was.type.name, id: was.id }
    // Its commit will enqueue it as it was before, which is not yet on the disk.
    if (this.#journal.isUnderWay(ref)) return this.#jobs.set(ref, pending)
    const job = this.#stored(ref)
    const shown: Shown = { job: job ?? was, seen: job && seenOf(job) }
    this.#written.push(shown)
    // Created and deleted since the last write.
    if (!job && !before) return
    this.#jobs.update(ref, shown)
    this.#jobWriter.write(pending, job, this.#log.position.next - 1)
  }

  async #lookAgain(): Promise<void> {
    this.#isLooking = true
    try {
      await this.#journal.look()
    } finally {
      this.#isLooking = false
    }
    this.#writeAgain()
  }

  /** Enqueues what other processes changed during the write: they may have shown it before this process did. */
  #writeAgain(): void {
    const written = this.#written
    this.#written = []
    for (const shown of this.#changedByOthers.size > 0 ? written : []) {
      const ref = { type: shown.job.type.name, id: shown.job.id }
      if (this.#changedByOthers.has(nameOf(ref))) this.#enqueue(ref, shown)
    }
    this.#changedByOthers.clear()
  }

  #stored({ type, id }: JobRef): MemoryJob | undefined {
    return this.#journal.replica.data.types.get(type)?.jobs.get(id)
  }

  async #removeAll(): Promise<void> {
    this.#isCleared = false
    const { disk, paths } = this.#log
    for (const folder of viewFolders) await disk.removeTree(join(paths.root, folder))
    for (const name of ['paused.json', 'slowed.json']) disk.unlink(join(paths.root, name))
  }
}

const nameOf = ({ type, id }: JobRef): string => JSON.stringify([type, id])
