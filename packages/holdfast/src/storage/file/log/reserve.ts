// The reserve: a file of zeros. When the disk is full it is deleted, so that jobs can still be claimed, settled and swept,
// which frees more room. Calls that take room are refused until the reserve can be created again. Meanwhile the view shows no
// job: its files would take the room that was freed for commits.

import { join } from 'node:path'
import type { Log } from './log.ts'

const zeros = Buffer.alloc(1_024 * 1_024)

export class Reserve {
  readonly #log: Log
  readonly #path: string

  constructor(log: Log) {
    this.#log = log
    this.#path = join(log.paths.root, 'reserve')
  }

  get isThere(): boolean {
    return this.#log.disk.exists(this.#path)
  }

  /** Creates the reserve if there is room for it. */
  make(): void {
    try {
      this.need()
    } catch {
      // The next call that needs it reports the error.
    }
  }

  /** Creates the reserve. @throws ENOSPC if there is no room for it */
  need(): void {
    const { disk } = this.#log
    if (this.isThere) return
    const temporary = this.#log.temporary()
    try {
      disk.close(disk.create(temporary, zeros))
      disk.rename(temporary, this.#path)
    } catch (error) {
      disk.unlink(temporary)
      throw Object.assign(error as Error, { maybeApplied: false })
    }
  }

  /** Deletes the reserve. False if it does not exist. */
  giveUp(): boolean {
    return this.#log.disk.unlink(this.#path)
  }
}

export const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes(String((error as { code?: unknown } | null)?.code))
