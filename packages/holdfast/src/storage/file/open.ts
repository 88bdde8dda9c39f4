// Makes the directory what it has to be. Whoever is first says where the log begins, by an exclusive link; nobody ever
// changes that.

import { join } from 'node:path'
import { format } from './frame.ts'
import type { Log } from './log.ts'

export async function openDirectory(log: Log): Promise<void> {
  const { disk, paths } = log
  for (const path of [paths.root, paths.log, paths.snapshot, paths.tmp]) disk.makeFolder(path)
  // Also to see that one may write here.
  const temporary = log.temporary()
  const folder = log.folderName(1)
  const file = disk.create(
    temporary,
    Buffer.from(`${JSON.stringify({ holdfast: 'directory', format, log: folder })}\n`),
  )
  try {
    if (disk.exists(paths.format)) return
    disk.makeFolder(join(paths.log, folder))
    await log.syncPath(paths.log)
    await disk.sync(file)
    if (!disk.link(temporary, paths.format)) disk.removeFolder(join(paths.log, folder))
    await log.syncPath(paths.root)
  } finally {
    disk.close(file)
    disk.unlink(temporary)
  }
}
