// An open directory, from connect() to disconnect(): the journal on its log, the compaction that keeps the log short, the
// view for people, and the watch that sees commits of other processes.

import { atMost, type Clock } from '../../clock.ts'
import type { ListenerRegistry } from '../listener-registry.ts'
import { Journal } from './journal.ts'
import { Compaction } from './log/compact.ts'
import type { Disk } from './log/disk.ts'
import { Log } from './log/log.ts'
import { openDirectory, openError } from './log/open-directory.ts'
import { pathsOf } from './log/paths.ts'
import { Reserve } from './log/reserve.ts'
import { sweepTemporary } from './log/sweep-temporary.ts'
import { Watch } from './log/watch.ts'
import { Follower } from './replica/follower.ts'
import { View } from './view/view.ts'

export interface SessionOptions {
  readonly directory: string
  readonly full: boolean
  readonly clock: Clock
  readonly disk: Disk
  readonly listeners: Pick<ListenerRegistry<never>, 'listenersOf' | 'notify'>
}

/** Longest time for the view at a close, in ms: less than a call may take. */
const closingMs = 4_000
/** Longest time for the view at a sweep, in ms. */
const sweepingMs = 1_000

export class Session {
  readonly journal: Journal
  readonly #clock: Clock
  readonly #log: Log
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
      session.#view.repair()
    } catch (error) {
      session.#log.close()
      throw error
    }
    return session
  }

  private constructor({ directory, full, clock, disk, listeners }: SessionOptions) {
    this.#clock = clock
    const log = new Log(disk, pathsOf(directory), full)
    this.#log = log
    const reserve = new Reserve(log)
    this.#reserve = reserve
    const follower = new Follower({
      log,
      clock,
      listeners,
      followed: (changes) => this.#view.followed(changes),
    })
    const compaction = new Compaction(follower, clock)
    let hasCommitted = false
    this.journal = new Journal(follower, clock, {
      committed: (recording) => {
        if (!hasCommitted) reserve.make()
        hasCommitted = true
        this.#view.committed(recording)
      },
      between: () => {
        this.#watch.follow()
        return compaction.isDue ? compaction.run() : this.#view.backpressure()
      },
      needRoom: () => reserve.need(),
      makeRoom: async () => this.#view.giveUpSpare() || reserve.giveUp() || compaction.make(),
    })
    this.#view = new View(log, clock, this.journal, () => reserve.isThere)
    this.#watch = new Watch(log, clock, () => this.journal.look())
  }

  /** Resolves once every later hint of another process will arrive. */
  async listen(): Promise<void> {
    this.#watch.start()
    await this.journal.look()
  }

  unlisten(): void {
    this.#watch.stop()
  }

  /** Removes what killed processes left behind, and waits a moment until the files of swept jobs are gone. */
  async sweep(): Promise<void> {
    sweepTemporary(this.#log)
    this.#reserve.make()
    this.#view.repair()
    await atMost(this.#clock, sweepingMs, this.#view.catchUp())
  }

  async close(): Promise<void> {
    this.#watch.stop()
    await this.journal.idle()
    await this.#view.close(this.#clock, closingMs)
    await this.journal.idle()
    this.#log.close()
  }
}
