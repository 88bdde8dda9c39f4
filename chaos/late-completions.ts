// Delays a completion until its lease has ended and was taken back, as if the process had been stopped: a
// planted defect needs this to occur reliably. The lease is no longer renewed, and only its end is awaited.

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

  /** Resolves when this run no longer holds the job. */
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

  /** Answers `extended` for delayed completions without extending them. */
  async extend(leases: readonly Extension[]): Promise<LeaseVerdict[]> {
    const others = leases.filter((lease) => !this.#held.has(fenceOf(lease)))
    const verdicts = await this.#storage.extend(others)
    return leases.map((lease) => verdicts[others.indexOf(lease)] ?? { verdict: 'extended', until: Infinity })
  }
}
