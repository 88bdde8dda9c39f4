// Removes files from tmp/ that killed processes left. A process that was only slow finds its file gone, and starts again.

import { join } from 'node:path'
import type { Log } from './log.ts'

/** Age in ms from which a file counts as left behind. */
const oldest = 60_000

export function sweepTemporary({ disk, paths }: Log): void {
  for (const name of disk.names(paths.tmp)) {
    const path = join(paths.tmp, name)
    if ((disk.age(path) ?? 0) < oldest) continue
    // It may be a folder of the log, if a process was killed while it deleted the folder.
    void disk.removeTree(path).catch(() => {})
  }
}
