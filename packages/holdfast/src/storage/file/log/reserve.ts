// A file of zeros. When the disk is full it is given up, so that jobs can still be claimed, settled and swept, which makes
// room again; what takes room is refused until there is enough to have it back, and the view shows no job meanwhile: it would
// take what was given up for the commits.

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

  /** As far as there is room for it. */
  make(): void {
    try {
      this.need()
    } catch {
      // Whoever needs it hears of it.
    }
  }

  /** @throws ENOSPC, if it is not there and there is no room for it */
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

  /** False if it was given up before. */
  giveUp(): boolean {
    return this.#log.disk.unlink(this.#path)
  }
}

export const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes(String((error as { code?: unknown } | null)?.code))
