// The place of a storage on disk while it is measured: its own directory on a file system that syncs, removed
// afterwards. The system's temporary directory may be in memory, so the place is inside this folder.

import { closeSync, fdatasyncSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from './statistics.ts'

const root = fileURLToPath(new URL('.tmp/', import.meta.url))

/** Directories that an interrupted run still has to remove. */
const made = new Set<string>()
process.on('exit', () => made.forEach(removeDirectory))

/** The working directory of one measurement's process. The caller removes it. */
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

/** An empty directory for one storage, inside the working directory of the measurement. */
export function newPlace(): string {
  return mkdtempSync(resolve('place-'))
}

/** Names by the type number of statfs. */
const fileSystems: Readonly<Record<number, string>> = {
  0xef53: 'ext4',
  0x58465342: 'xfs',
  0x9123683e: 'btrfs',
  0x2fc12fc1: 'zfs',
  0x794c7630: 'overlayfs',
  0x6969: 'nfs',
  0x01021994: 'tmpfs, which does not sync',
}

/** The file system of the places, and the time of a sync there. */
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
