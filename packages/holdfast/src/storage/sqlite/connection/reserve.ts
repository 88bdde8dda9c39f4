// A file of zeros beside the database. When the disk is full it is given up, so that jobs can still be claimed, settled and
// swept, which makes room again; adds are refused until then.

import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs'

const reservedBytes = 1_024 * 1_024

export class Reserve {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
    this.make()
  }

  /** At first, and again as part of the upkeep. Does nothing if it is there, or there is no room for it. */
  make(): void {
    try {
      if (statSync(this.#path, { throwIfNoEntry: false })?.size === reservedBytes) return
      const file = openSync(this.#path, 'w')
      try {
        // Written, not only asked for: a hole would hold no room.
        const zeros = Buffer.alloc(64 * 1_024)
        for (let at = 0; at < reservedBytes; at += zeros.length) writeSync(file, zeros)
      } finally {
        closeSync(file)
      }
    } catch {
      this.giveUp()
    }
  }

  giveUp(): void {
    rmSync(this.#path, { force: true })
  }
}
