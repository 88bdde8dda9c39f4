// Keeps the log short: once it is longer than a snapshot would be, a commit ends its folder, a snapshot is written, and
// what is in it goes. So the bytes written for it stay in proportion to those of the commits.

import { join } from 'node:path'
import type { Clock } from '../../../clock.ts'
import { encodeFrame, format } from './frame.ts'
import type { Journal } from '../journal.ts'
import { dropBefore, writeSnapshot } from './snapshot.ts'

/** Bytes; shorter logs are left alone. */
const shortest = 1_000_000
/** Ms without letting others work. */
const breath = 5

export class Compaction {
  readonly #journal: Journal
  readonly #clock: Clock
  /** After one that failed: not before the log has grown by this. */
  #notBefore = 0

  constructor(journal: Journal, clock: Clock) {
    this.#journal = journal
    this.#clock = clock
  }

  get isDue(): boolean {
    const { logBytes, snapshotBytes } = this.#journal
    return logBytes > Math.max(shortest, snapshotBytes, this.#notBefore)
  }

  /** For the room. False if it did not work, or the log is short already. */
  async make(): Promise<boolean> {
    if (this.#journal.logBytes === 0) return false
    await this.run()
    return this.#journal.logBytes === 0
  }

  /** Between two groups. */
  async run(): Promise<void> {
    const { log, logBytes, replica } = this.#journal
    try {
      if (!(await this.#endFolder())) return
      const { next } = log.position
      let since = this.#clock.monotonic()
      const size = await writeSnapshot(log, replica, () => {
        if (this.#clock.monotonic() - since < breath) return undefined
        since = this.#clock.monotonic()
        return new Promise((resolve) => this.#clock.soon(resolve))
      })
      this.#journal.logBytes = 0
      this.#journal.snapshotBytes = size
      this.#notBefore = 0
      await dropBefore(log, next - 1)
    } catch {
      // A full disk, most likely: the log serves as it is, and whoever writes on hears of it.
      this.#notBefore = logBytes + shortest
    }
  }

  /** False: another commit came first, so it is not the time. */
  async #endFolder(): Promise<boolean> {
    const { log, replica } = this.#journal
    const { disk, paths, position, full } = log
    const folder = log.folderName(position.next + 1)
    disk.makeFolder(join(paths.log, folder))
    // Whatever the mode: a snapshot that names it must never stand without it.
    await log.syncPath(paths.log)
    const durability = full ? 'full' : 'relaxed'
    const head = {
      holdfast: 'commit',
      format,
      number: position.next,
      last: replica.data.lastNumber,
      durability,
    } as const
    const appended = await log.append(encodeFrame(head, [JSON.stringify({ continue: folder })]))
    if (appended === 'won') log.goTo({ folder, next: position.next + 1 })
    else disk.removeFolder(join(paths.log, folder))
    return appended === 'won'
  }
}
