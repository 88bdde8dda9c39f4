// Compaction: once the log is longer than a snapshot would be, a commit ends its folder, a snapshot is written, and the
// folder is deleted. So the bytes written for snapshots stay in proportion to those of the commits.

import { join } from 'node:path'
import type { Clock } from '../../../clock.ts'
import type { Follower } from '../replica/follower.ts'
import { encodeFrame, format } from './frame.ts'
import { dropBefore, writeSnapshot } from './snapshot.ts'

/** Length in bytes up to which a log is left alone. */
const shortest = 1_000_000
/** Longest time in ms without a turn for other work. */
const stretchMs = 5

export class Compaction {
  readonly #follower: Follower
  readonly #clock: Clock
  /** Length of the log before which a failed compaction is not tried again. */
  #notBefore = 0

  constructor(follower: Follower, clock: Clock) {
    this.#follower = follower
    this.#clock = clock
  }

  get isDue(): boolean {
    const { logBytes, snapshotBytes } = this.#follower
    return logBytes > Math.max(shortest, snapshotBytes, this.#notBefore)
  }

  /** Frees room on a full disk. False if it failed, or the log is empty already. */
  async make(): Promise<boolean> {
    if (this.#follower.logBytes === 0) return false
    await this.run()
    return this.#follower.logBytes === 0
  }

  /** Runs between two groups of calls, when the replica is what the log says. */
  async run(): Promise<void> {
    const { log, logBytes, replica } = this.#follower
    try {
      if (!(await this.#endFolder())) return
      const { next } = log.position
      let since = this.#clock.monotonic()
      const size = await writeSnapshot(log, replica, () => {
        if (this.#clock.monotonic() - since < stretchMs) return undefined
        since = this.#clock.monotonic()
        return new Promise((resolve) => this.#clock.soon(resolve))
      })
      this.#follower.logBytes = 0
      this.#follower.snapshotBytes = size
      this.#notBefore = 0
      await dropBefore(log, next - 1)
    } catch {
      // Most likely a full disk. The log serves as it is, and the next call that writes reports the error.
      this.#notBefore = logBytes + shortest
    }
  }

  /** False if another process committed first: then the folder is not at its end. */
  async #endFolder(): Promise<boolean> {
    const { log, replica } = this.#follower
    const { disk, paths, position, full } = log
    const folder = log.folderName(position.next + 1)
    disk.makeFolder(join(paths.log, folder))
    // In every mode: a snapshot that names the folder must never exist without it.
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
