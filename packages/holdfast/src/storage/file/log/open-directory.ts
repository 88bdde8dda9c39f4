// Makes the directory what it has to be. Whoever is first says where the log begins, by an exclusive link; nobody ever
// changes that. Each who opens it syncs what it found or made, for who made it may not have come to that yet.

import { dirname, join } from 'node:path'
import { StorageError } from '../../../errors.ts'
import { format } from './frame.ts'
import type { Log } from './log.ts'

export async function openDirectory(log: Log): Promise<void> {
  const { disk, paths } = log
  const above = foldersAbove(log)
  for (const path of [paths.root, paths.log, paths.snapshot, paths.tmp]) disk.makeFolder(path)
  // Also to see that one may write here.
  const temporary = log.temporary()
  const folder = log.folderName(1)
  const file = disk.create(
    temporary,
    Buffer.from(`${JSON.stringify({ holdfast: 'directory', format, log: folder })}\n`),
  )
  try {
    if (!disk.exists(paths.format)) {
      disk.makeFolder(join(paths.log, folder))
      await disk.sync(file)
      await log.syncPath(paths.log)
      if (!disk.link(temporary, paths.format)) disk.removeFolder(join(paths.log, folder))
    }
    for (const path of [paths.log, paths.root]) await log.syncPath(path)
    for (const path of above) await log.syncPath(path).catch(unlessForbidden)
  } finally {
    disk.close(file)
    disk.unlink(temporary)
  }
}

/** Where the directory stands, and those that are not there yet. */
function foldersAbove({ disk, paths }: Log): string[] {
  const above = [dirname(paths.root)]
  while (!disk.exists(above.at(-1)!)) above.push(dirname(above.at(-1)!))
  return above
}

/** One may be allowed to use a directory, but not to read the one that it is in: then that was there before. */
function unlessForbidden(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EACCES' && error.code !== 'EPERM') throw error
}

/** What stands in the way of a directory for good. Other errors are told as they are: the same call may fare better later. */
export function openError(path: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  const isNone = code === 'EEXIST' || code === 'ENOTDIR'
  if (!isNone && code !== 'EACCES' && code !== 'EROFS') return error
  const why = isNone ? 'it is not a directory' : message
  return new StorageError(`cannot open the directory ${path}: ${why}`, { cause: error, maybeApplied: false })
}
