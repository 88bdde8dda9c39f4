// Files of the view: whole when they get their name, in folders that come with the first of them and go with the last.
// A file that goes, or is replaced, is kept in tmp/ for the next that comes: to delete and to make one costs far more than
// to write it (ext4 does not give out anew what was deleted a moment ago, and looks for long).

import { dirname, join } from 'node:path'
import type { Log } from '../log/log.ts'

const mostSpare = 2_000

export class Folders {
  readonly #log: Log
  /** Those in which something was deleted. */
  readonly #left = new Set<string>()
  /** Files to be written anew. */
  readonly #spare: string[] = []

  constructor(log: Log) {
    this.#log = log
  }

  /** @param bytes undefined: it goes */
  put(path: string, bytes: Uint8Array | undefined): void {
    const { disk } = this.#log
    const target = this.#absolute(path)
    if (!bytes) {
      if (this.#take(target)) this.#left.add(dirname(path))
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
    if (!this.#rename(temporary, target)) throw new Error(`${path} could not be written`)
  }

  /** Of one that is about to be replaced. */
  #keep(path: string): void {
    const { disk } = this.#log
    if (this.#spare.length === mostSpare || !disk.exists(path)) return
    const spare = this.#log.temporary()
    try {
      if (disk.link(path, spare)) this.#spare.push(spare)
    } catch {
      // Somebody was faster.
    }
  }

  /** False if it is not there. */
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
    if (moved) this.#left.add(dirname(from))
    return moved
  }

  /** Of files to be written anew. False: there were none. */
  giveUpSpare(): boolean {
    const spare = this.#spare.splice(0)
    for (const path of spare) this.#log.disk.unlink(path)
    return spare.length > 0
  }

  /** What is spare, and folders of workers, types and priorities in which nothing is left. The others stay, to be found. */
  removeEmpty(): void {
    this.giveUpSpare()
    for (const folder of this.#left) {
      for (let path = folder; path.includes('/'); path = dirname(path)) {
        if (!this.#log.disk.removeFolder(this.#absolute(path))) break
      }
    }
    this.#left.clear()
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
