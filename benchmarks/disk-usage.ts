// Bytes that a storage uses on disk.

import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The blocks of all files and directories below, as du counts them. */
export function diskUsage(directory: string): number {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).reduce((sum, path) => {
    // The file may have been deleted meanwhile.
    const found = lstatSync(join(directory, path), { throwIfNoEntry: false })
    return sum + 512 * (found?.blocks ?? 0)
  }, 0)
}

/**
 * The size of an SQLite database and its side files, after a checkpoint and without free pages.
 * @param pragma runs on the connection that has it open: another SQLite library in the same process would drop its locks
 */
export function sqliteDiskUsage(directory: string, pragma: (text: string) => Record<string, number>): number {
  const [busy] = Object.values(pragma('wal_checkpoint(TRUNCATE)'))
  if (busy !== 0) throw new Error('sqlite: the checkpoint failed because the database is in use')
  const [spare, pageBytes] = ['freelist_count', 'page_size'].map((name) => pragma(name)[name]!)
  return diskUsage(directory) - spare! * pageBytes!
}
