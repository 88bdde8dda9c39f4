// The reserve: a file of zeros beside the database. When the disk is full it is deleted, so that jobs can still be claimed,
// settled and swept, which frees more room. Adds are refused until then.

import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs'

const reservedBytes = 1_024 * 1_024

export class Reserve {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
    this.make()
  }

  /** Creates the file. Does nothing if it exists, or if there is no room for it. Each sweep calls it again. */
  make(): void {
    try {
      if (statSync(this.#path, { throwIfNoEntry: false })?.size === reservedBytes) return
      const file = openSync(this.#path, 'w')
      try {
        // Written, not truncated to size: a sparse file would reserve nothing.
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
