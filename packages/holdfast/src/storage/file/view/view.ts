// The view: the directory as a person reads it with ls and cat. It is written behind the commits, in the background, always
// the newest state and only of what was touched; nothing ever reads it to decide something. While much happens it waits, for
// half a second at most: a job that ends meanwhile is then written once, and not for each of its steps. Longer than others:
// what is to be written, when, and that it is written again, are decided over the same few sets.
//
// Each process writes what its own commits touched. Who writes while another commits would leave an old state behind, so
// after writing it looks at the log again, and writes again what was touched meanwhile.
// Longer than others: what waits to be shown, when it is shown, and how, turn on the same few fields.

import { join } from 'node:path'
import { atMost, type Clock } from '../../../clock.ts'
import type { MemoryJob } from '../../memory/data.ts'
import type { JobRef } from '../../storage.ts'
import type { Changes } from '../replica/changes.ts'
import type { Log } from '../log/log.ts'
import type { Before, Recording } from '../replica/recording.ts'
import type { Replica } from '../replica/replica.ts'
import { type Extra, extraBytes, extraPath } from './extras.ts'
import {
  entriesOf,
  entryBytes,
  errorPath,
  recordBytes,
  recordPath,
  resultPath,
  type Seen,
  seenOf,
  viewFolders,
} from './files.ts'
import { Folders } from './folders.ts'
import { Pace } from './pace.ts'
import { compare, leaveMark, marksOfTheDead } from './repair.ts'

/** What may be on the disk of a job. Nothing seen: nothing is. */
interface Shown {
  readonly job: MemoryJob
  readonly seen: Seen | undefined
}

interface Waiting extends Shown {
  readonly since: number
}

/** What it shows. */
interface Shows {
  readonly replica: Replica
  /** Catches up with the log. */
  look(): Promise<void>
  isUnderWay(job: JobRef): boolean
}

/** Jobs between two looks at the log. */
const batch = 200

export class View {
  readonly #log: Log
  readonly #journal: Shows
  /** False: the disk is full, and what is left is for commits. */
  readonly #hasRoom: () => boolean
  /** By type and id. */
  readonly #jobs = new Map<string, Map<string, Waiting>>()
  #size = 0
  readonly #pace: Pace
  readonly #extras = new Map<string, Extra>()
  #writing: Promise<void> | undefined
  /** Since the last look, those written here, and those that others have touched. */
  #written: Shown[] = []
  readonly #touched = new Set<string>()
  #batching = false
  /** Somebody waits for room, and nobody can look meanwhile. */
  #pressed: PromiseWithResolvers<void> | undefined
  #looking = false
  #cleared = false
  #failed = false
  #unmark: ((isShown: boolean) => void) | undefined
  readonly #folders: Folders

  constructor(log: Log, clock: Clock, journal: Shows, hasRoom: () => boolean) {
    this.#log = log
    this.#pace = new Pace(clock)
    this.#journal = journal
    this.#hasRoom = hasRoom
    this.#folders = new Folders(log)
  }

  /** Makes good what those who died had left undone, or this one could not write. */
  repair(now: number): void {
    try {
      const marks = marksOfTheDead(this.#log)
      if ((marks.length === 0 && !this.#failed) || !this.#hasRoom()) return
      this.#failed = false
      const { jobs, strays } = compare(this.#log, this.#journal.replica, now)
      for (const path of strays) this.#folders.put(path, undefined)
      for (const job of jobs) this.#enqueue({ type: job.type.name, id: job.id }, { job, seen: undefined })
      for (const path of marks) this.#log.disk.unlink(path)
      if (jobs.length > 0) this.#write()
    } catch {
      this.#failed = true // The view alone suffers.
    }
  }

  /** Of a commit of this process. */
  mark(recording: Recording): void {
    if (recording.cleared) this.#clear()
    for (const [type, ids] of recording.jobs) {
      for (const [id, before] of ids) if (!before || before.changed) this.#mark({ type, id }, before)
    }
    for (const [type, keys] of recording.keys) {
      for (const name of keys.keys()) this.#markExtra({ kind: 'key', type: type.name, name })
    }
    for (const { type, group } of recording.pauses.values()) {
      this.#markExtra(group === undefined ? { kind: 'pause', type, name: '' } : { kind: 'group', type, name: group })
    }
    for (const name of recording.entries.keys()) this.#markExtra({ kind: 'entry', type: '', name })
    this.#pace.marked()
    this.#write()
  }

  /** Of a commit of another process, which shows it itself. */
  othersTouched({ jobs, erased }: Changes): void {
    if (this.#written.length === 0 && !this.#batching) return
    for (const ref of [...jobs, ...erased]) this.#touched.add(nameOf(ref))
  }

  /** Undefined: it is not far behind. */
  room(): Promise<void> | undefined {
    // While it looks at the log it waits for those who would wait for it.
    if (this.#size <= this.#pace.most || !this.#writing || this.#looking) return undefined
    this.#pressed ??= Promise.withResolvers()
    this.#pace.hurry()
    return this.#pressed.promise
  }

  /** Once everything is shown; but it does not wait for ever, and leaves the rest to the next who opens. */
  async close(clock: Clock, ms: number): Promise<void> {
    const isComplete = await atMost(clock, ms, this.#complete())
    this.#failed ||= !isComplete
    this.#forget()
    await this.#writing
    this.#folders.removeEmpty()
    this.#unmark?.(!this.#failed)
    this.#unmark = undefined
  }

  async #complete(): Promise<void> {
    for (; this.#writing; await this.#writing) this.#pace.hurry(true)
  }

  /** Once what waits now is shown, or nearly. */
  async catchUp(): Promise<void> {
    this.#pace.hurry()
    await this.#writing
  }

  /** False: there is none. */
  giveUpSpare(): boolean {
    return this.#folders.giveUpSpare()
  }

  #mark(ref: JobRef, before: Before | null): void {
    const job = this.#stored(ref)
    if (before) this.#enqueue(ref, { job: before.job, seen: before.changing })
    else if (job) this.#enqueue(ref, { job, seen: undefined })
  }

  #enqueue({ type, id }: JobRef, shown: Shown): void {
    if (!this.#jobs.get(type)?.has(id)) this.#wait({ type, id }, { ...shown, since: this.#pace.now })
    const { group, chain } = shown.job
    if (group) this.#markExtra({ kind: 'group', type, name: group.key })
    if (chain !== shown.job || chain.jobs || chain.dependents) {
      this.#markExtra({ kind: 'chain', type: chain.type.name, name: chain.id })
    }
  }

  /** Not its turn yet. Marked again meanwhile, it is still this that is on the disk. */
  #putBack(waiting: Waiting): void {
    this.#wait({ type: waiting.job.type.name, id: waiting.job.id }, waiting)
  }

  #wait({ type, id }: JobRef, waiting: Waiting): void {
    let ids = this.#jobs.get(type)
    if (!ids) this.#jobs.set(type, (ids = new Map()))
    if (!ids.has(id)) this.#size++
    ids.set(id, waiting)
  }

  #markExtra(extra: Extra): void {
    this.#extras.set(extraPath(extra), extra)
  }

  #clear(): void {
    this.#forget()
    this.#cleared = true
  }

  #forget(): void {
    this.#jobs.clear()
    this.#extras.clear()
    this.#size = 0
    this.#written = []
    this.#touched.clear()
  }

  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
      this.#release()
      // Marked in the moment in which it ended.
      if (this.#hasWork && !this.#failed) this.#write()
    })
  }

  get #hasWork(): boolean {
    return this.#cleared || this.#size > 0 || this.#extras.size > 0
  }

  #release(): void {
    this.#pressed?.resolve()
    this.#pressed = undefined
    this.#pace.relax()
  }

  async #writeAll(): Promise<void> {
    try {
      this.#unmark ??= leaveMark(this.#log)
      while (this.#hasWork) {
        await this.#pace.due(this.#oldest())
        if (this.#cleared) await this.#removeAll()
        await this.#writeBatch()
        if (this.#pressed && this.#size > this.#pace.most && this.#pace.mayPress) continue
        this.#release()
        await this.#lookAgain()
      }
    } catch {
      this.#batching = false
      // A full disk, most likely. What is not shown now is found when the directory is opened by another process.
      this.#failed = true
      this.#forget()
    }
  }

  async #lookAgain(): Promise<void> {
    this.#looking = true
    try {
      await this.#journal.look()
    } finally {
      this.#looking = false
    }
    this.#writeAgain()
  }

  #oldest(): number {
    let oldest = Infinity
    for (const ids of this.#jobs.values()) {
      for (const { since } of ids.values()) {
        oldest = Math.min(oldest, since)
        break
      }
    }
    return oldest
  }

  async #writeBatch(): Promise<void> {
    this.#batching = true
    const jobs = this.#take()
    const extras = [...this.#extras.values()]
    this.#extras.clear()
    for (const waiting of jobs) {
      const { type, id } = waiting.job
      // Its commit will mark it as what it was before, and that is not yet what is on the disk.
      if (this.#journal.isUnderWay({ type: type.name, id })) this.#putBack(waiting)
      else this.#written.push(this.#show(waiting))
      await this.#pace.breath()
    }
    for (const extra of extras) {
      this.#folders.put(extraPath(extra), extraBytes(this.#journal.replica, extra))
      await this.#pace.breath()
    }
    this.#batching = false
  }

  #take(): Waiting[] {
    const taken: Waiting[] = []
    const until = this.#pace.takesUntil
    for (const [type, ids] of this.#jobs) {
      for (const [id, shown] of ids) {
        if (taken.length === batch) return taken
        if (shown.since > until) break
        taken.push(shown)
        ids.delete(id)
        this.#size--
      }
      if (ids.size === 0) this.#jobs.delete(type)
    }
    return taken
  }

  /** Those that another process touched while they were written: it may have shown them before they were. */
  #writeAgain(): void {
    const written = this.#written
    this.#written = []
    for (const shown of this.#touched.size > 0 ? written : []) {
      const ref = { type: shown.job.type.name, id: shown.job.id }
      if (this.#touched.has(nameOf(ref))) this.#enqueue(ref, shown)
    }
    this.#touched.clear()
  }

  /** Answers with what is shown now. */
  #show({ job: was, seen: before }: Shown): Shown {
    const ref = { type: was.type.name, id: was.id }
    const job = this.#stored(ref)
    const seen = job && seenOf(job)
    // It came and went unseen.
    if (!job && !before) return { job: was, seen }
    const shown = { job: job ?? was, seen }
    // Marked again before it was its turn: then this is what that finds.
    const ids = this.#jobs.get(ref.type)
    const again = ids?.get(ref.id)
    if (again) ids!.set(ref.id, { ...shown, since: again.since })
    this.#moveEntry({ job: was, seen: before }, job)
    this.#put(recordPath(was), job && recordBytes(job, this.#log.position.next - 1))
    if (before?.result !== seen?.result) this.#put(resultPath(was), seen?.result)
    if (before?.error !== seen?.error) this.#put(errorPath(was), seen?.error)
    return shown
  }

  #moveEntry({ job: was, seen: before }: Shown, job: MemoryJob | undefined): void {
    const from = before ? entriesOf(was, before) : []
    const to = job && entriesOf(job, job)[0]
    const isSame = before?.payload === job?.payload && was.accepted === job?.accepted
    let there = false
    for (const path of from) {
      if (isSame && path === to) there = true
      else if (isSame && to !== undefined && !there) there = this.#folders.rename(path, to)
      else this.#folders.put(path, undefined)
    }
    if (to !== undefined && !there) this.#put(to, entryBytes(job!))
  }

  /** Without room a file goes instead of being written: it would say what is no longer so. It is shown by the next repair. */
  #put(path: string, bytes: Uint8Array | undefined): void {
    const isShown = bytes === undefined || this.#hasRoom()
    this.#failed ||= !isShown
    this.#folders.put(path, isShown ? bytes : undefined)
  }

  #stored({ type, id }: JobRef): MemoryJob | undefined {
    return this.#journal.replica.data.types.get(type)?.jobs.get(id)
  }

  async #removeAll(): Promise<void> {
    this.#cleared = false
    const { disk, paths } = this.#log
    for (const folder of viewFolders) await disk.removeTree(join(paths.root, folder))
    disk.unlink(join(paths.root, 'paused.json'))
  }
}

const nameOf = ({ type, id }: JobRef): string => JSON.stringify([type, id])
