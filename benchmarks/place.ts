// Where a storage on disk lives while it is measured: a directory of its own on a file system that really syncs, gone
// afterwards. The system's own directory for such things may be in memory, so it is one in here.

import { closeSync, fdatasyncSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from './statistics.ts'

const root = fileURLToPath(new URL('.tmp/', import.meta.url))

/** Those that a run which is broken off still has to remove. */
const made = new Set<string>()
process.on('exit', () => made.forEach(removeDirectory))

/** For one measurement: the working directory of its process. Whoever makes it removes it. */
export function newWorkingDirectory(): string {
  mkdirSync(root, { recursive: true })
  const directory = mkdtempSync(root)
  made.add(directory)
  return directory
}

export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 3, retryDelay: 200 })
  made.delete(directory)
}

/** Empty. For one storage, in the working directory of the measurement, with which it goes. */
export function newPlace(): string {
  return mkdtempSync(resolve('place-'))
}

/** As statfs numbers them. */
const fileSystems: Readonly<Record<number, string>> = {
  0xef53: 'ext4',
  0x58465342: 'xfs',
  0x9123683e: 'btrfs',
  0x2fc12fc1: 'zfs',
  0x794c7630: 'overlayfs',
  0x6969: 'nfs',
  0x01021994: 'tmpfs, which syncs nothing',
}

/** The file system of those places, and what it takes to sync there. */
export function describeDisk(): string {
  const directory = newWorkingDirectory()
  try {
    const { type } = statfsSync(directory)
    const name = fileSystems[type] ?? `file system 0x${type.toString(16)}`
    return `${name}, one append and fdatasync ${median(syncTimes(directory)).toFixed(2)} ms`
  } finally {
    removeDirectory(directory)
  }
}

function syncTimes(directory: string): number[] {
  const file = openSync(join(directory, 'probe'), 'a')
  try {
    return Array.from({ length: 50 }, () => {
      const begun = performance.now()
      writeSync(file, 'x'.repeat(4_096))
      fdatasyncSync(file)
      return performance.now() - begun
    })
  } finally {
    closeSync(file)
  }
}
