// The lines of a commit or a snapshot: one change each, named by its only key. A commit also has hints, for listeners in other
// processes.

import type { MemoryJob } from '../../memory/data.ts'
import type { KvEntry } from '../../memory/kv-data.ts'
import { markFieldsOf } from '../../rules/job/key.ts'
import type { MarkFields } from '../../rules/move.ts'
import type { JobRef, Paused, Signal } from '../../storage.ts'
import type { Frame } from './frame.ts'
import { type BytesJson, bytesFromJson, bytesToJson } from './bytes-json.ts'
import { type Changes, noChanges } from '../replica/changes.ts'
import { type FlowJson, flowFromJson, flowToJson, type GroupJson, groupFromJson, groupToJson } from './group-lines.ts'
import {
  type ChangingJson,
  changingFromJson,
  changingToJson,
  type JobJson,
  jobFromJson,
  jobToJson,
  markFrom,
  type MarkJson,
} from './job-lines.ts'
import { isSamePart } from '../replica/group-part.ts'
import { changingPartOf, fixedPartOf } from '../replica/record.ts'
import type { Recording } from '../replica/recording.ts'
import type { Replica } from '../replica/replica.ts'

type KeyJson = MarkJson & { readonly type: string }

interface EntryJson {
  readonly key: string
  readonly value: BytesJson
  readonly until: number | null
  readonly created: number
}

export interface PausedJson {
  readonly since: number
  readonly by?: string
}

export type Line =
  | { readonly job: JobJson }
  | { readonly set: ChangingJson }
  | { readonly erase: JobRef }
  | { readonly hold: KeyJson }
  | { readonly free: { readonly type: string; readonly key: string } }
  | { readonly group: GroupJson }
  | { readonly dropGroup: { readonly type: string; readonly key: string } }
  | { readonly flow: FlowJson }
  | { readonly dropFlow: { readonly type: string } }
  // Of a type. Format 1 had those of groups too.
  | { readonly pause: PausedJson & { readonly type: string; readonly group?: string } }
  | { readonly resume: { readonly type: string; readonly group?: string } }
  | { readonly entry: EntryJson }
  | { readonly dropEntry: string }
  | { readonly clear: true }
  | { readonly hint: Signal }
  /** The folder of the commits after this one. */
  | { readonly continue: string }

// ── to lines ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export function linesOf(recording: Recording, replica: Replica): Line[] {
  const lines: Line[] = []
  if (recording.cleared) lines.push({ clear: true })
  const { stored } = recording
  const written: Line[] = []
  for (const [type, ids] of recording.jobs) {
    for (const [id, before] of ids) {
      const job = stored({ type, id })
      if (before && before.job !== job) lines.push({ erase: { type, id } })
      if (!job) continue
      if (before?.job !== job) written.push(jobLine(job, stored))
      else if (before.changed) {
        const changing = changingPartOf(job, stored)
        written.push({ set: changingToJson({ type, id }, changing, before.changing) })
      }
    }
  }
  lines.push(...written)
  for (const [{ name: type, keys: held }, keys] of recording.keys) {
    for (const [key, before] of keys) {
      const mark = held.get(key)
      if (mark === before) continue
      lines.push(mark ? keyLine(type, mark) : { free: { type, key } })
    }
  }
  const { types } = replica.data
  for (const [type, groups] of recording.groups) {
    for (const [key, before] of groups) {
      const group = types.get(type)?.groups.get(key)
      if (!group) {
        if (before) lines.push({ dropGroup: { type, key } })
      } else if (!before || !isSamePart(group, before)) lines.push({ group: groupToJson(type, key, group) })
    }
  }
  for (const [type, before] of recording.flows) {
    const flow = types.get(type)?.flow
    if (flow !== before) lines.push(flow ? { flow: flowToJson(type, flow) } : { dropFlow: { type } })
  }
  for (const type of recording.pauses.keys()) {
    const paused = types.get(type)?.paused
    lines.push(paused ? pauseLine(type, paused) : { resume: { type } })
  }
  for (const [key, before] of recording.entries) {
    const entry = replica.kv.entries.get(key)
    if (entry !== before) lines.push(entry ? entryLine(entry) : { dropEntry: key })
  }
  return lines
}

/** The lines of a snapshot: everything in the replica. */
export function* linesOfAll({ data, kv }: Replica): Generator<Line> {
  const stored = ({ type, id }: JobRef): MemoryJob | undefined => data.types.get(type)?.jobs.get(id)
  for (const { name: type, jobs, keys, paused, groups, flow } of data.types.values()) {
    if (paused) yield pauseLine(type, paused)
    if (flow) yield { flow: flowToJson(type, flow) }
    for (const group of groups.values()) yield { group: groupToJson(type, group.key, group) }
    for (const mark of keys.values()) yield keyLine(type, mark)
    for (const job of jobs.values()) yield jobLine(job, stored)
  }
  for (const entry of kv.entries.values()) yield entryLine(entry)
}

const jobLine = (job: MemoryJob, stored: (ref: JobRef) => MemoryJob | undefined): Line => ({
  job: jobToJson(fixedPartOf(job), changingPartOf(job, stored)),
})

const pauseLine = (type: string, { since, by }: Paused): Line => ({ pause: { type, since, by } })

const keyLine = (type: string, mark: MarkFields): Line => ({ hold: { type, ...markFieldsOf(mark) } })

const entryLine = ({ key, value, until, created }: KvEntry): Line => ({
  entry: { key, value: bytesToJson(value), until, created },
})

// ── from lines ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Read {
  readonly changes: Changes
  readonly hints: readonly Signal[]
  readonly continue: string | undefined
}

/** @param replica the replica before these lines */
export function readLines({ head, lines }: Frame, replica: Replica): Read {
  const changes = noChanges(head.last, head.format === 1)
  const hints: Signal[] = []
  let next: string | undefined
  for (const line of lines) {
    if ('set' in line) {
      const { type, id } = line.set
      changes.jobs.push(changingFromJson(line.set, replica.data.types.get(type)?.jobs.get(id)))
    } else if ('job' in line) changes.jobs.push(jobFromJson(line.job))
    else if ('hint' in line) hints.push(line.hint)
    else if ('continue' in line) next = line.continue
    else readOther(line, changes)
  }
  return { changes, hints, continue: next }
}

function readOther(line: Line, changes: Changes): void {
  if ('erase' in line) changes.erased.push(line.erase)
  else if ('hold' in line) {
    const { type, key } = line.hold
    changes.keys.push({ type, key, mark: markFrom(line.hold) })
  } else if ('free' in line) changes.keys.push({ ...line.free, mark: undefined })
  else if ('group' in line) changes.groups.push(groupFromJson(line.group))
  else if ('dropGroup' in line) changes.groups.push({ ...line.dropGroup, state: undefined })
  else if ('flow' in line) changes.flows.push(flowFromJson(line.flow))
  else if ('dropFlow' in line) changes.flows.push({ ...line.dropFlow, flow: undefined })
  else if ('pause' in line) {
    const { type, group, since, by } = line.pause
    changes.pauses.push({ type, group, paused: { since, by } })
  } else if ('resume' in line) changes.pauses.push({ ...line.resume, group: line.resume.group, paused: undefined })
  else if ('entry' in line) {
    const { key, value, until, created } = line.entry
    const entry = { key, value: bytesFromJson(value), until: until ?? Infinity, created, heapIndex: -1 }
    changes.entries.push({ key, entry })
  } else if ('dropEntry' in line) changes.entries.push({ key: line.dropEntry, entry: undefined })
  else if ('clear' in line) changes.cleared = true
  else {
    const kind = Object.keys(line).join(', ')
    throw new Error(`File storage: this version does not know lines of kind '${kind}'. Use a newer version.`)
  }
}
