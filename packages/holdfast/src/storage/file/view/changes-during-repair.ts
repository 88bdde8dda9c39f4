// The jobs that any process changed while the view is compared with the records.

import type { JobRef } from '../../storage.ts'
import type { Recording } from '../replica/recording.ts'

export class ChangesDuringRepair {
  #changed: JobRef[] | undefined

  begin(): void {
    this.#changed = []
  }

  note(jobs: readonly JobRef[]): void {
    if (this.#changed) for (const { type, id } of jobs) this.#changed.push({ type, id })
  }

  committed({ jobs }: Recording): void {
    for (const [type, ids] of jobs) this.note(Array.from(ids.keys(), (id) => ({ type, id })))
  }

  /** Those since the last call. */
  take(): JobRef[] {
    return this.#changed?.splice(0) ?? []
  }

  end(): void {
    this.#changed = undefined
  }
}
