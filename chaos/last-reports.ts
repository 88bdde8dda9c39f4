// Stores the last report of a run again, under the fence of the next run of its job: a planted defect.

import type { Storage } from 'holdfast'
import type { Claim, ClaimRequest, Extension, Outcome, Report } from 'holdfast/storage'

export class LastReports {
  readonly #storage: Storage
  readonly #reports = new Map<string, Report>()

  constructor(storage: Storage) {
    this.#storage = storage
  }

  keep(carriers: readonly (Extension | Outcome)[]): void {
    for (const carrier of carriers) {
      if ('log' in carrier && carrier.log) this.#reports.set(carrier.id, { log: carrier.log })
    }
  }

  async storeAgain({ types }: ClaimRequest, { jobs }: Claim): Promise<void> {
    const stale = jobs.flatMap(({ type, id, worker, attempt }): Extension[] => {
      const report = this.#reports.get(id)
      return report ? [{ type, id, worker, attempt, leaseMs: types[0]!.leaseMs, ...report }] : []
    })
    if (stale.length > 0) await this.#storage.extend(stale)
  }
}
