// An open directory: the journal on its log, what keeps the log short, and the watch that tells of other processes.

import { atMost, type Clock } from '../../clock.ts'
import { Compaction } from './log/compact.ts'
import type { Disk } from './log/disk.ts'
import type { Listeners } from './hints.ts'
import { Journal } from './journal.ts'
import { Log } from './log/log.ts'
import { openDirectory, openError } from './log/open.ts'
import { pathsOf } from './log/paths.ts'
import { Reserve } from './log/reserve.ts'
import { sweepTemporary } from './temporary.ts'
import { View } from './view/view.ts'
import { Watch } from './watch.ts'

export interface SessionOptions {
  readonly directory: string
  readonly full: boolean
  readonly clock: Clock
  readonly disk: Disk
  readonly listeners: Listeners
}

/** Ms for the view, when the storage is closed: within what a call may take. */
const closingMs = 4_000

export class Session {
  readonly journal: Journal
  readonly #clock: Clock
  readonly #log: Log
  readonly #listeners: Listeners
  readonly #view: View
  readonly #watch: Watch
  readonly #reserve: Reserve

  static async open(options: SessionOptions): Promise<Session> {
    const session = new Session(options)
    try {
      await openDirectory(session.#log).catch((error: unknown) => {
        throw openError(session.#log.paths.root, error)
      })
      await session.journal.look()
      session.#view.repair(options.clock.now())
      if (session.#listeners.size > 0) session.#watch.start()
    } catch (error) {
      session.#log.close()
      throw error
    }
    return session
  }

  private constructor({ directory, full, clock, disk, listeners }: SessionOptions) {
    this.#clock = clock
    this.#listeners = listeners
    this.#log = new Log(disk, pathsOf(directory), full)
    let hasCommitted = false
    this.journal = new Journal(this.#log, clock, listeners, {
      committed: (recording) => {
        if (!hasCommitted) reserve.make()
        hasCommitted = true
        this.#view.mark(recording)
      },
      followed: (changes) => this.#view.othersTouched(changes),
      between: () => {
        this.#watch.follow()
        return compaction.isDue ? compaction.run() : this.#view.room()
      },
      needRoom: () => reserve.need(),
      makeRoom: async () => this.#view.giveUpSpare() || reserve.giveUp() || compaction.make(),
    })
    const reserve = new Reserve(this.#log)
    this.#reserve = reserve
    const compaction = new Compaction(this.journal, clock)
    const { journal } = this
    this.#view = new View(this.#log, clock, journal, () => reserve.isThere)
    this.#watch = new Watch(this.#log, clock, () => this.journal.look())
  }

  /** Resolves once every later hint will come. */
  async listen(): Promise<void> {
    this.#watch.start()
    await this.journal.look()
  }

  unlisten(): void {
    if (this.#listeners.size === 0) this.#watch.stop()
  }

  /** What was left behind by those who died; and for a moment it waits until files are gone, too. */
  async sweep(): Promise<void> {
    sweepTemporary(this.#log)
    this.#reserve.make()
    this.#view.repair(this.#clock.now())
    await atMost(this.#clock, 1_000, this.#view.catchUp())
  }

  async close(): Promise<void> {
    this.#watch.stop()
    await this.journal.idle()
    await this.#view.close(this.#clock, closingMs)
    await this.journal.idle()
    this.#log.close()
  }
}
