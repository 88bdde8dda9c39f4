// A commit that is torn: the power went while it was not synced (`relaxed`), or the disk is broken. What was before it holds; it and what
// came after it is void, for that was built on it. A file beside it, made by an exclusive link, names the folder where the
// log goes on, so that all who find it torn go the same way.
// Nothing that was promised to last is given up like that: if a commit of mode `full` follows the torn one, it is refused.

import { join } from 'node:path'
import { decodeFrame } from './frame.ts'
import type { Log, Position } from './log.ts'
import { numberOf, padded } from './paths.ts'

/** The folder in which the number of the torn commit is to be found, or given anew. */
export function repair(log: Log, { folder, next }: Position): string {
  const { disk, paths } = log
  const path = join(paths.log, folder, `${padded(next)}.repair`)
  for (;;) {
    const found = disk.read(path)
    if (found) return (JSON.parse(found.toString()) as { continue: string }).continue
    refuseIfPromised(log, folder, next)
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

function refuseIfPromised({ disk, paths }: Log, folder: string, torn: number): void {
  for (const name of disk.names(join(paths.log, folder))) {
    if (!name.endsWith('.commit') || numberOf(name) <= torn) continue
    const frame = decodeFrame(disk.read(join(paths.log, folder, name)) ?? Buffer.alloc(0))
    if (frame?.head.durability !== 'full') continue
    const path = join(paths.log, folder, `${padded(torn)}.commit`)
    throw new Error(`the log is damaged: ${path} is not whole, but ${name} after it is`)
  }
}
