// A repair of the view that runs in the background: begins it, tells it what changes meanwhile, and ends it when the storage closes.

import type { Clock } from '../../../clock.ts'
import type { MemoryJob } from '../../memory/data.ts'
import type { JobRef } from '../../storage.ts'
import type { Log } from '../log/log.ts'
import type { Recording } from '../replica/recording.ts'
import { ChangesDuringRepair } from './changes-during-repair.ts'
import type { Extra } from './extra-files.ts'
import { compareGroups, repairJobs, takeMarkers } from './repair.ts'
import type { Source } from './view.ts'

/** The parts of the view that a repair uses. */
export interface RepairedView {
  readonly log: Log
  readonly clock: Clock
  readonly journal: Source
  hasRoom(): boolean
  yield(): Promise<void> | undefined
  /** True while the view will write the job anyway. */
  isPending(job: JobRef): boolean
  show(job: MemoryJob): void
  showExtra(extra: Extra): void
  remove(path: string): void
  /** Writes what is pending. */
  write(): void
}

export class ViewRepair {
  /** Some files could not be written: a repair finds them. */
  isNeeded = false
  readonly #view: RepairedView
  readonly #changes = new ChangesDuringRepair()
  #running: Promise<void> | undefined
  #isEnded = false

  constructor(view: RepairedView) {
    this.#view = view
  }

  /** Resolves when the repair under way has ended. Undefined if there is none. */
  get running(): Promise<void> | undefined {
    return this.#running
  }

  /** Writes what killed processes had not shown, or this one could not write. */
  begin(): void {
    this.#running ??= this.#run().finally(() => (this.#running = undefined))
  }

  /** The storage closes: the repair under way stops where it is. */
  end(): void {
    this.#isEnded = true
  }

  committed(recording: Recording): void {
    this.#changes.committed(recording)
  }

  followed(jobs: readonly JobRef[]): void {
    this.#changes.note(jobs)
  }

  async #run(): Promise<void> {
    const view = this.#view
    let endMarkers: ReturnType<typeof takeMarkers>
    try {
      if (!view.hasRoom()) return
      endMarkers = takeMarkers(view.log)
      if (!endMarkers && !this.isNeeded) return
      this.isNeeded = false
      this.#changes.begin()
      const isDone = await this.#repairJobs()
      if (isDone) this.#repairGroups()
      endMarkers?.(isDone)
      this.isNeeded ||= !isDone
      view.write()
    } catch {
      this.isNeeded = true // Only the view is affected.
      endMarkers?.(false)
    } finally {
      this.#changes.end()
    }
  }

  #repairJobs(): Promise<boolean> {
    const { log, clock, journal, hasRoom, isPending, show, remove } = this.#view
    return repairJobs({
      log,
      replica: () => journal.replica,
      now: () => clock.now(),
      yield: () => this.#view.yield(),
      isEnded: () => this.#isEnded || !hasRoom(),
      isPending: (ref) => isPending(ref) || journal.isUnderWay(ref),
      show,
      remove,
      look: () => journal.look(),
      takeChanged: () => this.#changes.take(),
    })
  }

  #repairGroups(): void {
    const { log, journal, remove, showExtra } = this.#view
    const { strays, extras } = compareGroups(log, journal.replica)
    for (const path of strays) remove(path)
    for (const extra of extras) showExtra(extra)
  }
}
