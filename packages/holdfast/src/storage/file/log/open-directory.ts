// Prepares the directory. The first process sets where the log begins, by an exclusive link; it never changes. Every process
// syncs what it found or created, because the one that created it may have been killed before its sync.

import { dirname, join } from 'node:path'
import { StorageError } from '../../../errors.ts'
import { format } from './frame.ts'
import type { Log } from './log.ts'

export async function openDirectory(log: Log): Promise<void> {
  const { disk, paths } = log
  const above = foldersAbove(log)
  for (const path of [paths.root, paths.log, paths.snapshot, paths.tmp]) disk.makeFolder(path)
  // Also shows whether the directory can be written.
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

/** The parent of the directory, and all its missing ancestors. */
function foldersAbove({ disk, paths }: Log): string[] {
  const above = [dirname(paths.root)]
  while (!disk.exists(above.at(-1)!)) above.push(dirname(above.at(-1)!))
  return above
}

/** A process may be allowed to use a directory but not to read its parent. The parent is then older, and needs no sync. */
function unlessForbidden(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EACCES' && error.code !== 'EPERM') throw error
}

/** A permanent obstacle becomes a StorageError. Other errors stay as they are: the same call may succeed later. */
export function openError(path: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  const isNoDirectory = code === 'EEXIST' || code === 'ENOTDIR'
  if (!isNoDirectory && code !== 'EACCES' && code !== 'EROFS') return error
  const why = isNoDirectory ? 'it is not a directory' : message
  return new StorageError(`File storage: cannot open the directory '${path}': ${why}`, {
    cause: error,
    maybeApplied: false,
  })
}
