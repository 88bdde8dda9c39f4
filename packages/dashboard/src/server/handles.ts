// The admin handles behind a dashboard. Reads share one; writes go through one per person, so that pauses, limits, the record of a cancel and
// the audit log name who did it.

import { type Admin, createAdmin } from 'holdfast'
import type { ResolvedOptions } from './options.ts'

export class Handles {
  readonly reader: Admin
  readonly #isGiven: boolean

  constructor({ admin, storage, clock }: ResolvedOptions) {
    this.reader = admin ?? createAdmin({ storage: storage!, clock })
    this.#isGiven = admin !== undefined
  }

  /** The handle for the writes of a person, on the connection of the reader. */
  of(actor: string): Admin {
    return this.reader.as(actor)
  }

  /** A handle that was given stays open. */
  async close(): Promise<void> {
    if (!this.#isGiven) await this.reader.close()
  }
}
