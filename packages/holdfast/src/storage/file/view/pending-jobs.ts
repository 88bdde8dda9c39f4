// The jobs whose files are out of date, by type and id, in the order in which they were changed.

import type { MemoryJob } from '../../memory/data.ts'
import type { JobRef } from '../../storage.ts'
import type { Seen } from './job-files.ts'

/** What the disk may show of a job. `seen` is undefined if it shows nothing. */
export interface Shown {
  readonly job: MemoryJob
  readonly seen: Seen | undefined
}

export interface Pending extends Shown {
  /** Monotonic instant of the first change that is not shown. */
  readonly since: number
}

export class PendingJobs {
  readonly #byType = new Map<string, Map<string, Pending>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  has({ type, id }: JobRef): boolean {
    return this.#byType.get(type)?.has(id) === true
  }

  set({ type, id }: JobRef, pending: Pending): void {
    let ids = this.#byType.get(type)
    if (!ids) this.#byType.set(type, (ids = new Map()))
    if (!ids.has(id)) this.#size++
    ids.set(id, pending)
  }

  /** Notes what the disk shows now of a job that is pending again. */
  update({ type, id }: JobRef, shown: Shown): void {
    const ids = this.#byType.get(type)
    const pending = ids?.get(id)
    if (pending) ids!.set(id, { ...shown, since: pending.since })
  }

  /** Removes and returns up to `most` jobs that were changed at `until` or before. */
  take(until: number, most: number): Pending[] {
    const taken: Pending[] = []
    for (const [type, ids] of this.#byType) {
      for (const [id, pending] of ids) {
        if (taken.length === most) return taken
        if (pending.since > until) break
        taken.push(pending)
        ids.delete(id)
        this.#size--
      }
      if (ids.size === 0) this.#byType.delete(type)
    }
    return taken
  }

  /** Infinity if none is pending. */
  oldest(): number {
    let oldest = Infinity
    for (const ids of this.#byType.values()) {
      for (const { since } of ids.values()) {
        oldest = Math.min(oldest, since)
        break
      }
    }
    return oldest
  }

  clear(): void {
    this.#byType.clear()
    this.#size = 0
  }
}
