// Repair of a torn commit, after a power cut before its sync (`relaxed`), or on a broken disk. The commits before it hold. The
// torn one and those after it are void, because they build on it. A file beside it, created by an exclusive link, names the
// folder where the log continues, so that every process continues in the same one.
// Invariant: no durable commit is voided. If a commit of mode `full` follows the torn one, the directory is refused.

import { join } from 'node:path'
import { decodeFrame } from './frame.ts'
import type { Log, Position } from './log.ts'
import { numberOf, padded } from './paths.ts'

/** The folder where the number of the torn commit is given again. */
export function repair(log: Log, { folder, next }: Position): string {
  const { disk, paths } = log
  const path = join(paths.log, folder, `${padded(next)}.repair`)
  for (;;) {
    const found = disk.read(path)
    if (found) return (JSON.parse(found.toString()) as { continue: string }).continue
    refuseIfDurable(log, folder, next)
    const name = log.folderName(next)
    disk.makeFolder(join(paths.log, name))
    const temporary = log.temporary()
    disk.close(disk.create(temporary, Buffer.from(JSON.stringify({ continue: name }) + '\n')))
    const won = disk.link(temporary, path)
    disk.unlink(temporary)
    if (!won) disk.removeFolder(join(paths.log, name))
    log.syncFirst(paths.log, join(paths.log, folder))
  }
}

function refuseIfDurable({ disk, paths }: Log, folder: string, torn: number): void {
  for (const name of disk.names(join(paths.log, folder))) {
    if (!name.endsWith('.commit') || numberOf(name) <= torn) continue
    const frame = decodeFrame(disk.read(join(paths.log, folder, name)) ?? Buffer.alloc(0))
    if (frame?.head.durability !== 'full') continue
    const path = join(paths.log, folder, `${padded(torn)}.commit`)
    throw new Error(
      `File storage: the log is damaged: '${path}' is incomplete, but the durable commit '${name}' follows it. Restore the directory from a backup.`,
    )
  }
}
