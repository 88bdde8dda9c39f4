// Snapshots: all data up to a commit in one file, from which a process starts that has not read the commits before.
// Invariant: a folder of the log is deleted only once a snapshot that has all its commits is synced.

import { join } from 'node:path'
import type { Disk } from './disk.ts'
import { decodeFrame, encodeFrame, format, type Frame } from './frame.ts'
import { linesOfAll } from './lines.ts'
import type { Log } from './log.ts'
import { numberOf, padded, type Paths } from './paths.ts'
import type { Replica } from '../replica/replica.ts'

const suffix = '.snapshot'

/** The latest complete snapshot. */
export function latestSnapshot(disk: Disk, paths: Paths): Frame | undefined {
  const names = disk.names(paths.snapshot).filter((name) => name.endsWith(suffix))
  for (const name of names.toSorted((a, b) => numberOf(b) - numberOf(a))) {
    const bytes = disk.read(join(paths.snapshot, name))
    const frame = bytes && decodeFrame(bytes)
    if (frame) return frame
  }
  return undefined
}

/** Writes a snapshot of the replica at the log's position, which must be the start of a folder. Returns its size in bytes. */
export async function writeSnapshot(
  log: Log,
  replica: Replica,
  yieldNow: () => Promise<void> | undefined,
): Promise<number> {
  const { disk, paths, position } = log
  const number = position.next - 1
  const lines: string[] = []
  for (const line of linesOfAll(replica)) {
    lines.push(JSON.stringify(line))
    if (lines.length % 500 === 0) await yieldNow()
  }
  const durability = log.full ? 'full' : 'relaxed'
  const last = replica.data.lastNumber
  const head = { holdfast: 'snapshot', format, number, last, durability, log: position.folder } as const
  const bytes = encodeFrame(head, lines)
  const temporary = log.temporary()
  try {
    const file = disk.create(temporary, bytes)
    try {
      await disk.sync(file)
    } finally {
      disk.close(file)
    }
    disk.rename(temporary, join(paths.snapshot, padded(number) + suffix))
  } catch (error) {
    // On a full disk an incomplete snapshot would take the last room, and no job could be settled any more.
    disk.unlink(temporary)
    throw error
  }
  await log.syncPath(paths.snapshot)
  return bytes.length
}

/** Deletes what a snapshot replaces: older snapshots, and folders of the log whose commits are all in it. */
export async function dropBefore(log: Log, number: number): Promise<void> {
  const { disk, paths } = log
  for (const name of disk.names(paths.snapshot)) {
    if (numberOf(name) < number) disk.unlink(join(paths.snapshot, name))
  }
  for (const name of disk.names(paths.log)) {
    if (numberOf(name) > number) continue
    const away = log.temporary()
    if (disk.rename(join(paths.log, name), away)) await disk.removeTree(away)
  }
}
