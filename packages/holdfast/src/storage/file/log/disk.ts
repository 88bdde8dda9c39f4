// The only file that touches the disk. Everything above it asks for a Disk, so that tests can count its calls, make them fail,
// and cut the power between any two.
//
// What may be missing is told by `undefined` or `false`, where ENOENT is the whole reason; every other error is thrown as it came.

import fs from 'node:fs'
import { systemClock } from '../../../clock.ts'

export interface Disk {
  makeFolder(path: string): void
  exists(path: string): boolean
  read(path: string): Buffer | undefined
  /** In no order; none if there is no such folder. */
  names(folder: string): string[]
  /** A new file with these bytes, open: sync and close it. */
  create(path: string, bytes: Uint8Array): number
  /** Other bytes for a file that nobody sees. */
  rewrite(path: string, bytes: Uint8Array): void
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
      return undefined // Limits of the platform: it is polled instead.
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
