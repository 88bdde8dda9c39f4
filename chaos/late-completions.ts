// Holds a completion back until its lease is over and was taken back, as if the process had been stopped in between: what a
// planted defect needs to be met for certain. Its lease is no longer renewed, and nothing but the lease is waited for.

import type { Storage } from 'holdfast'
import type { Extension, LeaseRef, LeaseVerdict, Outcome } from 'holdfast/storage'
import { sleep } from './child.ts'
import { fenceOf } from './entries.ts'

export type HeldOutcome = Outcome & LeaseRef

export class LateCompletions {
  readonly #storage: Storage
  readonly #held = new Set<string>()

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** Resolves when the job is no longer this run's. */
  async arrive({ type, id, worker, attempt }: HeldOutcome): Promise<void> {
    const fence = fenceOf({ worker, attempt })
    this.#held.add(fence)
    try {
      for (;;) {
        await this.#storage.recover({ types: [type], limit: 100 })
        const [record] = await this.#storage.get([{ type, id }])
        if (record?.state !== 'processing' || record.attempt !== attempt || record.worker !== worker) return
        await sleep(50)
      }
    } finally {
      this.#held.delete(fence)
    }
  }

  /** Tells of those held back that they were renewed. */
  async extend(leases: readonly Extension[]): Promise<LeaseVerdict[]> {
    const others = leases.filter((lease) => !this.#held.has(fenceOf(lease)))
    const verdicts = await this.#storage.extend(others)
    return leases.map((lease) => verdicts[others.indexOf(lease)] ?? { verdict: 'extended', until: Infinity })
  }
}
