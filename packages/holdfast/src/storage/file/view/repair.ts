// Repair of the view after a crash. A session keeps a marker file in unshown/ until it has shown all its changes. If the
// marker is there and its process is not, the whole view is compared with the records.

import { join } from 'node:path'
import { isTerminal } from '../../rules/job/states.ts'
import type { MemoryJob } from '../../memory/data.ts'
import { stateOf } from '../../rules/get.ts'
import type { Move } from '../../rules/move.ts'
import type { Log } from '../log/log.ts'
import { numberOf } from '../log/paths.ts'
import type { Replica } from '../replica/replica.ts'
import { type Extra, extraPath } from './extra-files.ts'
import { entriesOf, errorPath, jobFolders, recordPath, resultPath } from './job-files.ts'

const markers = 'unshown'

/** Creates a marker. Returns a function that removes it, or leaves it for the next process that opens the directory. */
export function createMarker({ disk, paths, owner }: Log): (isComplete: boolean) => void {
  const path = join(paths.root, markers, owner)
  disk.makeFolder(join(paths.root, markers))
  disk.close(disk.create(path, Buffer.alloc(0)))
  return (isComplete) =>
    void (isComplete ? disk.unlink(path) : disk.rename(path, join(paths.root, markers, `left-${owner}`)))
}

/** Paths of the markers whose process has ended. */
export function markersOfDeadProcesses({ disk, paths }: Log): string[] {
  const left = disk.names(join(paths.root, markers)).filter((name) => !isAlive(numberOf(name)))
  return left.map((name) => join(paths.root, markers, name))
}

function isAlive(pid: number): boolean {
  if (Number.isNaN(pid)) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The jobs to show again, and the files to remove. */
export function compare(log: Log, replica: Replica, now: number): { jobs: MemoryJob[]; strays: string[] } {
  const found = new Set(filesOf(log))
  const jobs: MemoryJob[] = []
  for (const type of replica.data.types.values()) {
    for (const job of type.jobs.values()) {
      const entry = entriesOf(job, job).find((path) => found.has(path))
      const isShown = (entry !== undefined) !== isTerminal(job.state) && isRecorded(log, job, now)
      const files = [entry, recordPath(job), job.result && resultPath(job), job.error && errorPath(job)]
      if (!isShown || files.some((path) => path !== undefined && !found.has(path))) jobs.push(job)
      for (const path of files) if (path !== undefined) found.delete(path)
    }
  }
  // An entry of a listed job in another place is a stray file too.
  return { jobs, strays: [...found] }
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

/** The files of groups, pauses and slow-downs to show again, and those of groups to remove. They are few: all are written. */
export function compareGroups({ disk, paths }: Log, { data }: Replica): { extras: Extra[]; strays: string[] } {
  const extras: Extra[] = []
  for (const { name: type, groups } of data.types.values()) {
    extras.push({ kind: 'pause', type, name: '' }, { kind: 'slow', type, name: '' })
    for (const name of groups.keys()) extras.push({ kind: 'group', type, name })
  }
  const shown = new Set(extras.map(extraPath))
  const folders = foldersOfTypes({ disk, paths }).map((type) => join(type, 'groups'))
  const found = folders.flatMap((folder) => disk.names(join(paths.root, folder)).map((name) => join(folder, name)))
  return { extras, strays: found.filter((path) => !shown.has(path)) }
}

/** The folders of types below the root, with that of the default type. */
function foldersOfTypes({ disk, paths }: Pick<Log, 'disk' | 'paths'>): string[] {
  return ['', ...disk.names(join(paths.root, 'types')).map((name) => join('types', name))]
}

/** Paths of the files that belong to jobs. */
function* filesOf({ disk, paths }: Log): Generator<string> {
  for (const type of foldersOfTypes({ disk, paths })) {
    for (const kind of jobFolders) {
      for (const name of disk.names(join(paths.root, type, kind))) {
        const path = join(type, kind, name)
        if (kind !== 'priority' && kind !== 'processing') yield path
        else for (const entry of disk.names(join(paths.root, path))) yield join(path, entry)
      }
    }
  }
}
