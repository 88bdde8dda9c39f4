// The log: numbered commits. Each is a file that is complete when it gets its name, and never changes afterwards.
//
// Invariant: a number is given once. `append` takes it by an exclusive link: of several processes one succeeds, and a process
// that was stopped for any time fails. Commits are in a folder of the log, whose last commit names the next folder. Only whole
// folders are deleted, by renaming them first. So a process that lags behind finds its next number taken, or its folder gone,
// and never free.

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

/** The commit is in the log, but its sync failed: it may not survive a power cut. */
export class UnsyncedError extends Error {}

export class Log {
  readonly disk: Disk
  readonly paths: Paths
  readonly full: boolean
  position: Position = { folder: '', next: 0 }
  /** Commits of other processes were read that may not be synced yet. */
  unsynced = false
  /** Folders to be synced before the next commit. */
  #syncFirst: string[] = []
  /** Unique name of this process, thread and session. */
  readonly owner = `${process.pid}-${threadId}-${systemClock.newId().slice(-12)}`
  #made = 0
  #folder: { readonly name: string; readonly file: number } | undefined

  constructor(disk: Disk, paths: Paths, full: boolean) {
    this.disk = disk
    this.paths = paths
    this.full = full
  }

  /** A unique path in tmp/. */
  temporary(): string {
    return join(this.paths.tmp, `${this.owner}-${++this.#made}`)
  }

  /** A unique name for a folder of the log, never used again. */
  folderName(first: number): string {
    return `${padded(first)}-${this.owner.split('-').at(-1)}${++this.#made}`
  }

  /** True if there is a commit after the position. */
  hasNext(): boolean {
    const folder = join(this.paths.log, this.position.folder)
    return this.disk.exists(join(folder, `${padded(this.position.next)}.commit`)) || !this.disk.exists(folder)
  }

  /** The commit after the position, if there is one. `gone`: it was deleted, and a snapshot has it. */
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

  /** Gives this commit the next number. Rejects with an UnsyncedError, or with `maybeApplied: false` on the error. */
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

  /** In mode `full`, makes the names of the commits durable. */
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

  /** If the link fails, the number of links shows whether the file got its name all the same. */
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
      // A sweep removes it later.
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
