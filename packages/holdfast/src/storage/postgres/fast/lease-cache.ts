// Jobs in processing that are not alone, as far as this process claimed them: their outcomes are for the rules, and a try by
// the short way would be a statement for nothing.

import type { LeaseRef } from '../../storage.ts'

/** Those whose lease was lost are never settled: what is forgotten is tried, and found out by the statement. */
const mostKept = 10_000

export class Linked {
  readonly #leases = new Set<string>()

  add(lease: LeaseRef): void {
    if (this.#leases.size >= mostKept) this.#leases.clear()
    this.#leases.add(nameOf(lease))
  }

  /** One that is settled is not asked for again. */
  take(leases: readonly LeaseRef[]): boolean {
    if (this.#leases.size === 0) return false
    let found = false
    for (const lease of leases) if (this.#leases.delete(nameOf(lease))) found = true
    return found
  }
}

/** A worker's name is new with each claim, and its attempts are no others'. */
const nameOf = ({ worker, attempt, id }: LeaseRef): string => `${attempt}/${worker}/${id}`
