// The state before a call, or before the calls of one commit: enough to write what they changed, and to undo it.
// Invariant: each object is noted as it was when the recording began, however often it changes afterwards.

import type { Data, MemoryJob, Mark, TypeData } from '../../memory/data.ts'
import type { KvData, KvEntry } from '../../memory/kv-data.ts'
import type { Group } from '../../memory/group.ts'
import type { Recorder } from '../../memory/recorder.ts'
import type { Flow, GroupState } from '../../rules/flow.ts'
import type { JobRef, Paused } from '../../storage.ts'
import { type Changes, noChanges } from './changes.ts'
import { stateOf } from './group-part.ts'
import { type ChangingPart, changingPartOf, fixedPartOf } from './record.ts'
import type { Replica } from './replica.ts'

export interface Before {
  readonly job: MemoryJob
  readonly changing: ChangingPart
  changed: boolean
}

export class Recording implements Recorder {
  readonly #replica: Replica
  /** By type and id. Null: there was no such job. */
  readonly jobs = new Map<string, Map<string, Before | null>>()
  readonly keys = new Map<TypeData, Map<string, Mark | undefined>>()
  /** By type and key. Undefined: there was no such group. */
  readonly groups = new Map<string, Map<string, GroupState | undefined>>()
  readonly flows = new Map<string, Flow | undefined>()
  /** Of types. The pause of a group is part of its state. */
  readonly pauses = new Map<string, Paused | undefined>()
  readonly entries = new Map<string, KvEntry | undefined>()
  /** All data before a clear(). */
  #cleared: { data: Data; kv: KvData } | undefined
  /** The number that was taken last. */
  readonly lastNumber: number

  constructor(replica: Replica) {
    this.#replica = replica
    this.lastNumber = replica.data.lastNumber
  }

  get cleared(): boolean {
    return this.#cleared !== undefined
  }

  get hasChanges(): boolean {
    if (this.#cleared || this.keys.size + this.pauses.size + this.entries.size > 0) return true
    if (this.groups.size + this.flows.size > 0) return true
    for (const ids of this.jobs.values()) for (const before of ids.values()) if (!before || before.changed) return true
    return false
  }

  seen(job: MemoryJob): void {
    const { chain } = job
    this.#note(job)
    if (chain !== job) this.#note(chain)
    if (chain.tail !== job) this.#note(chain.tail)
  }

  changed(job: MemoryJob): void {
    const before = this.#note(job)
    if (before) before.changed = true
  }

  creates(type: string, id: string): void {
    const ids = this.#of(type)
    if (!ids.has(id)) ids.set(id, null)
  }

  key(type: TypeData, key: string): void {
    this.#addKey(type, key, type.keys.get(key))
  }

  group({ type, key }: Group): void {
    // The group that is stored: the rules change a new one before its first change stores it.
    if (this.groups.get(type.name)?.has(key)) return
    const stored = type.groups.get(key)
    this.#addGroup(type.name, key, stored && stateOf(stored))
  }

  flow({ name, flow }: TypeData): void {
    if (!this.flows.has(name)) this.flows.set(name, flow)
  }

  pause(type: string): void {
    if (!this.pauses.has(type)) this.pauses.set(type, this.#replica.data.types.get(type)?.paused)
  }

  entry(key: string): void {
    if (!this.entries.has(key)) this.entries.set(key, this.#replica.kv.entries.get(key))
  }

  /** Deletes everything. The call must have a group of its own: nothing else may be recorded beside it. */
  clear(): void {
    this.#cleared = { data: this.#replica.data, kv: this.#replica.kv }
    this.#replica.clear()
  }

  /** Adds a later recording. For what both have noted, this one is right. */
  include(later: Recording): void {
    this.#cleared ??= later.#cleared
    for (const [type, laterIds] of later.jobs) {
      const ids = this.#of(type)
      for (const [id, before] of laterIds) {
        const known = ids.get(id)
        if (known === undefined) ids.set(id, before)
        else if (known && (before === null || before.changed)) known.changed = true
      }
    }
    for (const [type, keys] of later.keys) for (const [key, mark] of keys) this.#addKey(type, key, mark)
    for (const [type, groups] of later.groups) for (const [key, state] of groups) this.#addGroup(type, key, state)
    for (const [type, flow] of later.flows) if (!this.flows.has(type)) this.flows.set(type, flow)
    for (const [type, paused] of later.pauses) if (!this.pauses.has(type)) this.pauses.set(type, paused)
    for (const [key, entry] of later.entries) if (!this.entries.has(key)) this.entries.set(key, entry)
  }

  /** The changes that restore the state before. */
  undo(): Changes {
    const changes = noChanges(this.lastNumber)
    if (this.#cleared) {
      this.#replica.data = this.#cleared.data
      this.#replica.kv = this.#cleared.kv
      return changes
    }
    for (const [type, ids] of this.jobs) {
      for (const [id, before] of ids) this.#undoJob({ type, id }, before, changes)
    }
    for (const [type, keys] of this.keys) {
      for (const [key, mark] of keys) changes.keys.push({ type: type.name, key, mark })
    }
    for (const [type, groups] of this.groups) {
      for (const [key, state] of groups) changes.groups.push({ type, key, state })
    }
    for (const [type, flow] of this.flows) changes.flows.push({ type, flow })
    for (const [type, paused] of this.pauses) changes.pauses.push({ type, group: undefined, paused })
    for (const [key, entry] of this.entries) changes.entries.push({ key, entry })
    return changes
  }

  #undoJob(ref: JobRef, before: Before | null, changes: Changes): void {
    const now = this.stored(ref)
    if (now && now !== before?.job) changes.erased.push(ref)
    if (!before) return
    const fixed = now === before.job ? undefined : fixedPartOf(before.job)
    if (!fixed && !before.changed) return
    changes.jobs.push({ ...ref, fixed, changing: before.changing })
  }

  readonly stored = ({ type, id }: JobRef): MemoryJob | undefined => this.#replica.data.types.get(type)?.jobs.get(id)

  #note(job: MemoryJob): Before | null {
    const ids = this.#of(job.type.name)
    const known = ids.get(job.id)
    if (known !== undefined) return known
    const before = { job, changing: changingPartOf(job, this.stored), changed: false }
    ids.set(job.id, before)
    return before
  }

  #addKey(type: TypeData, key: string, mark: Mark | undefined): void {
    let keys = this.keys.get(type)
    if (!keys) this.keys.set(type, (keys = new Map()))
    if (!keys.has(key)) keys.set(key, mark)
  }

  #addGroup(type: string, key: string, state: GroupState | undefined): void {
    let groups = this.groups.get(type)
    if (!groups) this.groups.set(type, (groups = new Map()))
    if (!groups.has(key)) groups.set(key, state)
  }

  /** The types of which something changed, and may be left empty. */
  get types(): Set<string> {
    const keyed = [...this.keys.keys()].map(({ name }) => name)
    const others = [this.jobs, this.groups, this.flows, this.pauses].flatMap((names) => [...names.keys()])
    return new Set([...keyed, ...others])
  }

  #of(type: string): Map<string, Before | null> {
    let ids = this.jobs.get(type)
    if (!ids) this.jobs.set(type, (ids = new Map()))
    return ids
  }
}
