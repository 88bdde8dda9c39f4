// Bytes that a storage takes up on disk.

import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Of all files and directories below: the blocks they occupy, as du counts them. */
export function diskUsage(directory: string): number {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).reduce((sum, path) => {
    // It may have gone meanwhile.
    const found = lstatSync(join(directory, path), { throwIfNoEntry: false })
    return sum + 512 * (found?.blocks ?? 0)
  }, 0)
}

/**
 * Of an SQLite database and what lies beside it, with its log written back into it and without the pages it has to spare.
 * @param pragma on a connection of whoever has it open: another SQLite in the same process would drop its locks
 */
export function sqliteDiskUsage(directory: string, pragma: (text: string) => Record<string, number>): number {
  const [busy] = Object.values(pragma('wal_checkpoint(TRUNCATE)'))
  if (busy !== 0) throw new Error('the log could not be written back: the database is in use')
  const [spare, pageBytes] = ['freelist_count', 'page_size'].map((name) => pragma(name)[name]!)
  return diskUsage(directory) - spare! * pageBytes!
}
