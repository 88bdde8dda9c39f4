// The only file that touches the disk. Everything above it asks for a Disk, so that tests can count its calls, make them fail,
// and cut the power between any two.
//
// What may be missing is told by `undefined` or `false`, where ENOENT is the whole reason; every other error is thrown as it came.

import fs from 'node:fs'
import { systemClock } from '../../clock.ts'

export interface Disk {
  makeFolder(path: string): void
  exists(path: string): boolean
  read(path: string): Buffer | undefined
  /** In no order; none if there is no such folder. */
  names(folder: string): string[]
  /** A new file with these bytes, open: sync and close it. */
  create(path: string, bytes: Uint8Array): number
  openFolder(path: string): number
  sync(file: number): Promise<void>
  close(file: number): void
  /** False if there is a file of that name. */
  link(from: string, to: string): boolean
  /** False if there is nothing to rename. */
  rename(from: string, to: string): boolean
  /** False if there is none. */
  unlink(path: string): boolean
  /** False if it is not empty, or there is none. */
  removeFolder(path: string): boolean
  removeTree(path: string): Promise<void>
  /** Ms since it was written. */
  age(path: string): number | undefined
  links(path: string): number | undefined
  /** Undefined: not to be had here. */
  watch(folder: string, onChange: () => void): (() => void) | undefined

  // In the background, one after the other, for what nobody waits for.
  writeLater(path: string, bytes: Uint8Array): Promise<void>
  renameLater(from: string, to: string): Promise<boolean>
  unlinkLater(path: string): Promise<boolean>
}

export const nodeDisk: Disk = {
  makeFolder: (path) => void fs.mkdirSync(path, { recursive: true }),
  exists: (path) => fs.existsSync(path),
  read: (path) => (fs.existsSync(path) ? unlessMissing(() => fs.readFileSync(path), undefined) : undefined),
  names: (folder) => unlessMissing(() => fs.readdirSync(folder), []),
  create(path, bytes) {
    const file = fs.openSync(path, 'wx')
    try {
      for (let at = 0; at < bytes.length;) at += fs.writeSync(file, bytes, at)
    } catch (error) {
      fs.closeSync(file)
      throw error
    }
    return file
  },
  openFolder: (path) => fs.openSync(path, 'r'),
  sync: (file) => new Promise((resolve, reject) => fs.fsync(file, settled(resolve, reject))),
  close: (file) => fs.closeSync(file),
  link: (from, to) => unless('EEXIST', () => (fs.linkSync(from, to), true), false),
  rename: (from, to) => unlessMissing(() => (fs.renameSync(from, to), true), false),
  unlink: (path) => unlessMissing(() => (fs.unlinkSync(path), true), false),
  removeFolder: (path) => unless('ENOTEMPTY', () => unlessMissing(() => (fs.rmdirSync(path), true), false), false),
  removeTree: (path) => fs.promises.rm(path, { recursive: true, force: true }),
  age: (path) => {
    const stats = fs.statSync(path, { throwIfNoEntry: false })
    return stats && systemClock.now() - stats.mtimeMs
  },
  links: (path) => fs.statSync(path, { throwIfNoEntry: false })?.nlink,
  watch(folder, onChange) {
    try {
      const watcher = fs.watch(folder, { persistent: false }, () => onChange())
      watcher.on('error', () => watcher.close())
      return () => watcher.close()
    } catch {
      return undefined // Limits of the platform: it is polled instead.
    }
  },
  writeLater: (path, bytes) => new Promise((resolve, reject) => fs.writeFile(path, bytes, settled(resolve, reject))),
  renameLater: (from, to) => found((done) => fs.rename(from, to, done)),
  unlinkLater: (path) => found((done) => fs.unlink(path, done)),
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code

function unless<T>(code: string, run: () => T, otherwise: T): T {
  try {
    return run()
  } catch (error) {
    if (codeOf(error) === code) return otherwise
    throw error
  }
}

const unlessMissing = <T>(run: () => T, otherwise: T): T => unless('ENOENT', run, otherwise)

const settled =
  (resolve: () => void, reject: (error: Error) => void) =>
  (error: Error | null): void =>
    error ? reject(error) : resolve()

function found(run: (done: (error: Error | null) => void) => void): Promise<boolean> {
  return new Promise((resolve, reject) =>
    run((error) => {
      if (!error) resolve(true)
      else if (codeOf(error) === 'ENOENT') resolve(false)
      else reject(error)
    }),
  )
}
