// An open directory: the journal on its log, what keeps the log short, and the watch that tells of other processes.

import type { Clock } from '../../clock.ts'
import { Compaction } from './compact.ts'
import type { Disk } from './disk.ts'
import type { Listeners } from './hints.ts'
import { Journal } from './journal.ts'
import { Log } from './log.ts'
import { openDirectory } from './open.ts'
import { pathsOf } from './paths.ts'
import { sweepTemporary } from './temporary.ts'
import { Watch } from './watch.ts'

export interface SessionOptions {
  readonly directory: string
  readonly full: boolean
  readonly clock: Clock
  readonly disk: Disk
  readonly listeners: Listeners
}

export class Session {
  readonly journal: Journal
  readonly #log: Log
  readonly #listeners: Listeners
  readonly #watch: Watch

  static async open(options: SessionOptions): Promise<Session> {
    const session = new Session(options)
    try {
      await openDirectory(session.#log)
      await session.journal.look()
      if (session.#listeners.size > 0) session.#watch.start()
    } catch (error) {
      session.#log.close()
      throw error
    }
    return session
  }

  private constructor({ directory, full, clock, disk, listeners }: SessionOptions) {
    this.#listeners = listeners
    this.#log = new Log(disk, pathsOf(directory), full)
    const between = (): Promise<void> | undefined => {
      this.#watch.follow()
      return compaction.isDue ? compaction.run() : undefined
    }
    this.journal = new Journal(this.#log, clock, listeners, () => {}, between)
    const compaction = new Compaction(this.journal, clock)
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

  /** What was left behind by those who died. */
  sweep(): void {
    sweepTemporary(this.#log)
  }

  async close(): Promise<void> {
    this.#watch.stop()
    await this.journal.idle()
    this.#log.close()
  }
}
