// The log: numbered commits, each a file that is whole when it gets its name, and never changes after.
//
// Invariant: a number is given once. `append` gives it by an exclusive link, so of all who try one wins, and who was stopped
// for any time loses. Commits stand in a folder of the log, which ends with one that names the next folder; only whole
// folders are deleted, by renaming them away. So who lags behind finds its next number taken, or its folder gone, and never
// free.

import { join } from 'node:path'
import { threadId } from 'node:worker_threads'
import { systemClock } from '../../../clock.ts'
import type { Disk } from './disk.ts'
import { decodeFrame, type Frame } from './frame.ts'
import { padded, type Paths } from './paths.ts'
import { repair } from './repair.ts'

export interface Position {
  readonly folder: string
  /** The number of the next commit. */
  readonly next: number
}

export type Appended = 'won' | 'lost' | 'gone'

/** The commit is in the log, but nobody knows whether it survives a power cut. */
export class UnsyncedError extends Error {}

export class Log {
  readonly disk: Disk
  readonly paths: Paths
  readonly full: boolean
  position: Position = { folder: '', next: 0 }
  /** Somebody else's commits were read that may not be synced yet. */
  unsynced = false
  /** Folders to be synced before the next commit. */
  #syncFirst: string[] = []
  /** Nobody else has this name. */
  readonly owner = `${process.pid}-${threadId}-${systemClock.newId().slice(-12)}`
  #made = 0
  #folder: { readonly name: string; readonly file: number } | undefined

  constructor(disk: Disk, paths: Paths, full: boolean) {
    this.disk = disk
    this.paths = paths
    this.full = full
  }

  /** A name in tmp/ that nobody else has. */
  temporary(): string {
    return join(this.paths.tmp, `${this.owner}-${++this.#made}`)
  }

  /** A name for a folder of the log that nobody else has, or ever had. */
  folderName(first: number): string {
    return `${padded(first)}-${this.owner.split('-').at(-1)}${++this.#made}`
  }

  /** Something has happened since. */
  hasNext(): boolean {
    const folder = join(this.paths.log, this.position.folder)
    return this.disk.exists(join(folder, `${padded(this.position.next)}.commit`)) || !this.disk.exists(folder)
  }

  /** The next commit, if there is one. `gone`: it was deleted, a snapshot has it. */
  next(): Frame | 'gone' | undefined {
    for (;;) {
      const { folder, next } = this.position
      const path = join(this.paths.log, folder, `${padded(next)}.commit`)
      const bytes = this.disk.read(path)
      if (!bytes) return this.disk.exists(join(this.paths.log, folder)) ? undefined : 'gone'
      const frame = decodeFrame(bytes)
      if (frame) return frame
      this.goTo({ folder: repair(this, this.position), next })
    }
  }

  /** Gives the next number to this commit. Rejects with `maybeApplied` on the error. */
  async append(bytes: Buffer): Promise<Appended> {
    const path = this.temporary()
    try {
      for (; this.full && this.#syncFirst.length > 0; this.#syncFirst.pop())
        await this.syncPath(this.#syncFirst.at(-1)!)
      const file = this.disk.create(path, bytes)
      try {
        if (this.full) await this.disk.sync(file)
      } finally {
        this.disk.close(file)
      }
      const { folder, next } = this.position
      const target = join(this.paths.log, folder, `${padded(next)}.commit`)
      if (!this.#link(path, target)) return this.disk.exists(target) ? 'lost' : 'gone'
    } catch (error) {
      throw Object.assign(error as Error, { maybeApplied: false })
    } finally {
      this.#forget(path)
    }
    await this.syncFolder().catch((cause: Error) => {
      throw new UnsyncedError(cause.message, { cause })
    })
    return 'won'
  }

  /** In mode `full`, makes durable which numbers are given. */
  async syncFolder(): Promise<void> {
    if (!this.full) return
    this.unsynced = false
    try {
      await this.disk.sync(this.#folderFile())
    } catch (error) {
      this.unsynced = true
      throw error
    }
  }

  async syncPath(folder: string): Promise<void> {
    const file = this.disk.openFolder(folder)
    try {
      await this.disk.sync(file)
    } finally {
      this.disk.close(file)
    }
  }

  syncFirst(...folders: readonly string[]): void {
    this.#syncFirst.push(...folders)
  }

  goTo(position: Position): void {
    this.position = position
  }

  close(): void {
    if (this.#folder) this.disk.close(this.#folder.file)
    this.#folder = undefined
  }

  /** An answer of a link that failed is not trusted: what counts is whether the file has its name. */
  #link(path: string, target: string): boolean {
    try {
      return this.disk.link(path, target)
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ENOENT') return false
      if (this.disk.links(path) === 2) return true
      throw error
    }
  }

  #forget(path: string): void {
    try {
      this.disk.unlink(path)
    } catch {
      // Swept later.
    }
  }

  #folderFile(): number {
    const { folder: name } = this.position
    if (this.#folder?.name === name) return this.#folder.file
    this.close()
    this.#folder = { name, file: this.disk.openFolder(join(this.paths.log, name)) }
    return this.#folder.file
  }
}
