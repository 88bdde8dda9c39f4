// Repair of the view after a crash. A session keeps a marker file in unshown/ until it has shown all its changes. If the
// marker is there and its process is not, the whole view is compared with the records: by one process, which takes the marker over, and in
// short stretches, because that takes seconds with 100,000 records. Calls go on meanwhile, so what changes is noted (RepairWork).

import { join } from 'node:path'
import { isTerminal } from '../../rules/job/states.ts'
import type { MemoryJob } from '../../memory/data.ts'
import { stateOf } from '../../rules/get.ts'
import { type Move, refOf } from '../../rules/move.ts'
import type { JobRef } from '../../storage.ts'
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

/**
 * Takes over the markers whose process has ended: each goes to one process. Returns a function that removes them, or leaves them for
 * another process. Undefined if there is none.
 */
export function takeMarkers({ disk, paths, owner }: Log): ((isComplete: boolean) => void) | undefined {
  const folder = join(paths.root, markers)
  const dead = disk.names(folder).filter((name) => !isAlive(numberOf(name)))
  const taken = dead.filter((name) => disk.rename(join(folder, name), join(folder, `${owner}-${name}`)))
  if (taken.length === 0) return undefined
  return (isComplete) => {
    for (const name of taken) {
      const path = join(folder, `${owner}-${name}`)
      if (isComplete) disk.unlink(path)
      else disk.rename(path, join(folder, `left-${owner}-${disk.names(folder).length}`))
    }
  }
}

function isAlive(pid: number): boolean {
  if (Number.isNaN(pid)) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export interface RepairWork {
  readonly log: Log
  readonly replica: () => Replica
  now(): number
  /** Gives other work a turn, where it is time for that. */
  yield(): Promise<void> | undefined
  isEnded(): boolean
  /** True while the view will write the job anyway. */
  isPending(job: JobRef): boolean
  /** The disk shows the job as it is not; its entries there were removed. */
  show(job: MemoryJob): void
  remove(path: string): void
  /** Catches up with the log. */
  look(): Promise<void>
  /** The jobs that any process has changed since the last call. */
  takeChanged(): JobRef[]
}

/** Compares the files of all jobs with the records. @returns false if it was ended before it was done */
export async function repairJobs(work: RepairWork): Promise<boolean> {
  const { log, replica } = work
  const found = new Set<string>()
  for (const path of filesOf(log)) {
    found.add(path)
    await work.yield()
    if (work.isEnded()) return false
  }
  // A copy: jobs come and go meanwhile.
  const refs = [...replica().data.types.values()].flatMap(({ jobs }) => Array.from(jobs.values(), refOf))
  for (const ref of refs) {
    checkJob(work, ref, found)
    await work.yield()
    if (work.isEnded()) return false
  }
  await work.look()
  // What is left belongs to no job, unless that has changed since the files were listed.
  for (const path of found) {
    for (const ref of work.takeChanged()) for (const own of filesOfJob(stored(replica(), ref))) found.delete(own)
    if (found.has(path)) work.remove(path)
    await work.yield()
    if (work.isEnded()) return false
  }
  return true
}

const stored = ({ data }: Replica, { type, id }: JobRef): MemoryJob | undefined => data.types.get(type)?.jobs.get(id)

function filesOfJob(job: MemoryJob | undefined): string[] {
  return job ? [...entriesOf(job, job), recordPath(job), resultPath(job), errorPath(job)] : []
}

/** Takes the files of a job out of `found`, and has it shown if they are not what its record says. */
function checkJob(work: RepairWork, ref: JobRef, found: Set<string>): void {
  const { log } = work
  const job = stored(work.replica(), ref)
  if (!job) return
  const isThere = (path: string): boolean => found.has(path) || log.disk.exists(join(log.paths.root, path))
  const entries = entriesOf(job, job).filter(isThere)
  const files = [recordPath(job), job.result && resultPath(job), job.error && errorPath(job)]
  const kept = files.filter((path) => path !== undefined)
  const isShown =
    entries.length > 0 !== isTerminal(job.state) && kept.every(isThere) && isRecorded(log, job, work.now())
  for (const path of [...entries, ...kept]) found.delete(path)
  if (isShown || work.isPending(ref)) return
  for (const path of entries) work.remove(path)
  work.show(job)
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
