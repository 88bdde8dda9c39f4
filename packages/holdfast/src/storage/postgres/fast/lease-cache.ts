// Leases of linked jobs that this process claimed. Their outcomes need the rules: to try the fast path would waste a statement.

import type { LeaseRef } from '../../storage.ts'

/** A lost lease is never settled and stays in the cache, so the cache is emptied at this size. A forgotten lease costs one statement. */
const maxSize = 10_000

export class LeaseCache {
  readonly #leases = new Set<string>()

  add(lease: LeaseRef): void {
    if (this.#leases.size >= maxSize) this.#leases.clear()
    this.#leases.add(nameOf(lease))
  }

  /** Removes leases that are being settled. Returns whether one of them was in the cache. */
  remove(leases: readonly LeaseRef[]): boolean {
    if (this.#leases.size === 0) return false
    let isFound = false
    for (const lease of leases) if (this.#leases.delete(nameOf(lease))) isFound = true
    return isFound
  }
}

/** Unique without the type: the worker id is new with each claim. */
const nameOf = ({ worker, attempt, id }: LeaseRef): string => `${attempt}/${worker}/${id}`
