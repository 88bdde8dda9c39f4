// Writes files of the view. A file is complete when it gets its name; a folder is created with its first file and removed with
// its last. A file that is removed or replaced is kept in tmp/ and reused: deleting and creating a file costs far more than
// writing it, because ext4 does not reuse an inode that was freed a moment ago, and searches long for another.

import { dirname, join } from 'node:path'
import type { Log } from '../log/log.ts'

/** Spare files that are kept. */
const mostSpare = 2_000

export class FileWriter {
  readonly #log: Log
  /** Folders in which a file was removed. */
  readonly #thinned = new Set<string>()
  /** Paths in tmp/ of files to reuse. */
  readonly #spare: string[] = []

  constructor(log: Log) {
    this.#log = log
  }

  /** Writes a file. @param bytes undefined: removes it */
  put(path: string, bytes: Uint8Array | undefined): void {
    const { disk } = this.#log
    const target = this.#absolute(path)
    if (!bytes) {
      if (this.#take(target)) this.#thinned.add(dirname(path))
      return
    }
    const temporary = this.#spare.pop() ?? this.#log.temporary()
    try {
      if (disk.exists(temporary)) disk.rewrite(temporary, bytes)
      else disk.close(disk.create(temporary, bytes))
    } catch (error) {
      disk.unlink(temporary)
      throw error
    }
    this.#keep(target)
    if (!this.#rename(temporary, target))
      throw new Error(`file storage: ${path} could not be written: its temporary file is gone`)
  }

  /** Keeps the old file that is about to be replaced. */
  #keep(path: string): void {
    const { disk } = this.#log
    if (this.#spare.length === mostSpare || !disk.exists(path)) return
    const spare = this.#log.temporary()
    try {
      if (disk.link(path, spare)) this.#spare.push(spare)
    } catch {
      // Another process removed it first.
    }
  }

  /** Removes a file, and keeps it as a spare one. False if it is not there. */
  #take(path: string): boolean {
    const { disk } = this.#log
    if (this.#spare.length === mostSpare) return disk.unlink(path)
    const spare = this.#log.temporary()
    if (!disk.rename(path, spare)) return false
    this.#spare.push(spare)
    return true
  }

  /** False if it is not there. */
  rename(from: string, to: string): boolean {
    const moved = this.#rename(this.#absolute(from), this.#absolute(to))
    if (moved) this.#thinned.add(dirname(from))
    return moved
  }

  /** Deletes the spare files. False if there are none. */
  giveUpSpare(): boolean {
    const spare = this.#spare.splice(0)
    for (const path of spare) this.#log.disk.unlink(path)
    return spare.length > 0
  }

  /** Removes spare files, and empty folders of workers, types and priorities. The fixed folders stay, to be found. */
  removeEmptyFolders(): void {
    this.giveUpSpare()
    for (const folder of this.#thinned) {
      for (let path = folder; path.includes('/'); path = dirname(path)) {
        if (!this.#log.disk.removeFolder(this.#absolute(path))) break
      }
    }
    this.#thinned.clear()
  }

  #rename(from: string, to: string): boolean {
    const { disk } = this.#log
    if (disk.rename(from, to)) return true
    if (!disk.exists(from)) return false
    disk.makeFolder(dirname(to))
    return disk.rename(from, to)
  }

  #absolute(path: string): string {
    return join(this.#log.paths.root, path)
  }
}
