// The admin handles behind a dashboard. Reads share one; writes go through one per person, so that pauses, limits and the record of
// a cancel name who did it.

import { type Admin, createAdmin } from 'holdfast'
import type { ResolvedOptions } from './options.ts'

/** Handles of people that are kept; the one that was used longest ago goes first. */
const mostHandles = 100

export class Handles {
  readonly reader: Admin
  readonly #options: ResolvedOptions
  readonly #byActor = new Map<string, Admin>()

  constructor(options: ResolvedOptions) {
    this.#options = options
    this.reader = options.admin ?? this.#open()
  }

  /** The handle for the writes of a person. A handle that was given has its own operator; calls that take one get the person. */
  of(actor: string): Admin {
    if (this.#options.admin) return this.#options.admin
    const handle = this.#byActor.get(actor) ?? this.#open(actor)
    this.#byActor.delete(actor)
    this.#byActor.set(actor, handle)
    if (this.#byActor.size > mostHandles) {
      const [oldest, dropped] = this.#byActor.entries().next().value!
      this.#byActor.delete(oldest)
      void dropped.close()
    }
    return handle
  }

  /** Closes the handles that were made here. */
  async close(): Promise<void> {
    if (this.#options.admin) return
    await Promise.all([this.reader, ...this.#byActor.values()].map((handle) => handle.close()))
  }

  #open(by?: string): Admin {
    const { storage, clock } = this.#options
    return createAdmin({ storage: storage!, clock, by })
  }
}
