// The only file of the driver that accesses the disk. All others take a Disk, so that tests can count its calls, make them
// fail, and cut the power between any two of them.
//
// `undefined` and `false` mean that a file is missing (ENOENT). Every other error is thrown unchanged.

import fs from 'node:fs'
import { systemClock } from '../../../clock.ts'

export interface Disk {
  makeFolder(path: string): void
  exists(path: string): boolean
  read(path: string): Buffer | undefined
  /** Names in a folder, in no order. Empty if there is no such folder. */
  names(folder: string): string[]
  /** Creates a file with these bytes. Returns it open, to be synced and closed. */
  create(path: string, bytes: Uint8Array): number
  /** Replaces the bytes of a temporary file. */
  rewrite(path: string, bytes: Uint8Array): void
  openFolder(path: string): number
  sync(file: number): Promise<void>
  close(file: number): void
  /** False if the target exists. */
  link(from: string, to: string): boolean
  /** False if the source does not exist. */
  rename(from: string, to: string): boolean
  /** False if the file does not exist. */
  unlink(path: string): boolean
  /** False if the folder is not empty, or does not exist. */
  removeFolder(path: string): boolean
  removeTree(path: string): Promise<void>
  /** Ms since the last write. */
  age(path: string): number | undefined
  /** Number of hard links. */
  links(path: string): number | undefined
  /** Undefined if the platform cannot watch the folder. */
  watch(folder: string, onChange: () => void): (() => void) | undefined
}

export const nodeDisk: Disk = {
  makeFolder: (path) => void fs.mkdirSync(path, { recursive: true }),
  exists: (path) => fs.existsSync(path),
  read: (path) => (fs.existsSync(path) ? unlessMissing(() => fs.readFileSync(path), undefined) : undefined),
  names: (folder) => unlessMissing(() => fs.readdirSync(folder), []),
  create(path, bytes) {
    const file = fs.openSync(path, 'wx')
    try {
      writeAll(file, bytes)
    } catch (error) {
      fs.closeSync(file)
      throw error
    }
    return file
  },
  rewrite(path, bytes) {
    const file = fs.openSync(path, 'r+')
    try {
      writeAll(file, bytes)
      fs.ftruncateSync(file, bytes.length)
    } finally {
      fs.closeSync(file)
    }
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
      return undefined // A limit of the platform: the folder is polled instead.
    }
  },
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += fs.writeSync(file, bytes, at, bytes.length - at, at)
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
