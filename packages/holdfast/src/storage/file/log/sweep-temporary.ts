// What was left in tmp/ by those who died before they could use it. Who is only slow finds its file gone, and begins again.

import { join } from 'node:path'
import type { Log } from './log.ts'

const oldest = 60_000

export function sweepTemporary({ disk, paths }: Log): void {
  for (const name of disk.names(paths.tmp)) {
    const path = join(paths.tmp, name)
    if ((disk.age(path) ?? 0) < oldest) continue
    // A folder: one of the log's, that somebody died over deleting.
    void disk.removeTree(path).catch(() => {})
  }
}
