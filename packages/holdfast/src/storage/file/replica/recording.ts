// The state before a call, or before the calls of one commit: enough to write what they changed, and to undo it.
// Invariant: each object is noted as it was when the recording began, however often it changes afterwards.

import type { Data, MemoryJob, Mark, TypeData } from '../../memory/data.ts'
import type { KvData, KvEntry } from '../../memory/kv-data.ts'
import type { Recorder } from '../../memory/move.ts'
import type { JobRef } from '../../storage.ts'
import { type Changes, noChanges, type PausePut } from './changes.ts'
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
  readonly pauses = new Map<string, PausePut>()
  readonly entries = new Map<string, KvEntry | undefined>()
  /** All data before a clear(). */
  #cleared: { data: Data; kv: KvData } | undefined
  readonly #lastNumber: number

  constructor(replica: Replica) {
    this.#replica = replica
    this.#lastNumber = replica.data.lastNumber
  }

  get cleared(): boolean {
    return this.#cleared !== undefined
  }

  get hasChanges(): boolean {
    if (this.#cleared || this.keys.size + this.pauses.size + this.entries.size > 0) return true
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

  // TODO: groups and flows are not in the log yet.
  group(): void {}

  flow(): void {}

  pause(type: string, group: string | undefined): void {
    const found = this.#replica.data.types.get(type)
    const paused = group === undefined ? found?.paused : found?.groups.get(group)?.paused
    const name = JSON.stringify([type, group])
    if (!this.pauses.has(name)) this.pauses.set(name, { type, group, paused })
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
    for (const [name, put] of later.pauses) if (!this.pauses.has(name)) this.pauses.set(name, put)
    for (const [key, entry] of later.entries) if (!this.entries.has(key)) this.entries.set(key, entry)
  }

  /** The changes that restore the state before. */
  undo(): Changes {
    const changes = noChanges(this.#lastNumber)
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
    changes.pauses.push(...this.pauses.values())
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

  #of(type: string): Map<string, Before | null> {
    let ids = this.jobs.get(type)
    if (!ids) this.jobs.set(type, (ids = new Map()))
    return ids
  }
}
