// What somebody who died had not shown, or not taken away. A session that shows something leaves a mark in unshown/ until it
// has shown everything; if its process is gone and the mark is there, the whole view is compared with the records.

import { join } from 'node:path'
import { isTerminal } from '../../rules/job/states.ts'
import type { MemoryJob } from '../../memory/data.ts'
import { stateOf } from '../../rules/get.ts'
import type { Move } from '../../rules/move.ts'
import type { Log } from '../log/log.ts'
import { numberOf } from '../log/paths.ts'
import type { Replica } from '../replica/replica.ts'
import { entriesOf, errorPath, recordPath, resultPath, viewFolders } from './files.ts'

const folder = 'unshown'

/** Leaves a mark. Answers with the way to take it away, or to leave it for whoever opens next. */
export function leaveMark({ disk, paths, owner }: Log): (isShown: boolean) => void {
  const path = join(paths.root, folder, owner)
  disk.makeFolder(join(paths.root, folder))
  disk.close(disk.create(path, Buffer.alloc(0)))
  return (isShown) => void (isShown ? disk.unlink(path) : disk.rename(path, join(paths.root, folder, `left-${owner}`)))
}

/** Marks of processes that are no more. */
export function marksOfTheDead({ disk, paths }: Log): string[] {
  const marks = disk.names(join(paths.root, folder)).filter((name) => !isAlive(numberOf(name)))
  return marks.map((name) => join(paths.root, folder, name))
}

function isAlive(pid: number): boolean {
  if (Number.isNaN(pid)) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** What is to be shown again, and what is to go. */
export function compare(log: Log, replica: Replica, now: number): { jobs: MemoryJob[]; strays: string[] } {
  const there = new Set(filesOf(log))
  const jobs: MemoryJob[] = []
  for (const type of replica.data.types.values()) {
    for (const job of type.jobs.values()) {
      const entry = entriesOf(job, job).find((path) => there.has(path))
      const isShown = (entry !== undefined) !== isTerminal(job.state) && isRecorded(log, job, now)
      const files = [entry, recordPath(job), job.result && resultPath(job), job.error && errorPath(job)]
      if (!isShown || files.some((path) => path !== undefined && !there.has(path))) jobs.push(job)
      for (const path of files) if (path !== undefined) there.delete(path)
    }
  }
  // Of a job that is shown again, an entry elsewhere is a stray too.
  return { jobs, strays: [...there] }
}

function isRecorded({ disk, paths }: Log, job: MemoryJob, now: number): boolean {
  try {
    const record = JSON.parse(String(disk.read(join(paths.root, recordPath(job))))) as Record<string, unknown>
    const states = [job.state, stateOf({ now } as Move, job)]
    const isState =
      states.includes(record.state as never) || (record.state === 'scheduled' && states.includes('queued'))
    return isState && record.number === job.accepted && record.attempts === job.attempt
  } catch {
    return false
  }
}

/** Those that belong to jobs. */
function* filesOf({ disk, paths }: Log): Generator<string> {
  const types = disk.names(join(paths.root, 'types')).map((name) => join('types', name))
  for (const type of ['', ...types]) {
    for (const kind of viewFolders.slice(0, 8)) {
      for (const name of disk.names(join(paths.root, type, kind))) {
        const path = join(type, kind, name)
        if (kind !== 'priority' && kind !== 'processing') yield path
        else for (const entry of disk.names(join(paths.root, path))) yield join(path, entry)
      }
    }
  }
}
