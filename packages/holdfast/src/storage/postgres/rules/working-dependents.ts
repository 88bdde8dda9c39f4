// The dependents of the chains of one run of the rules.

import type * as Moves from '../../rules/move.ts'
import { cell } from '../sql/job-columns.ts'
import { encodeText } from '../sql/text.ts'
import { DependentSet } from './dependent-set.ts'
import type { PostgresJob } from './job.ts'
import { nameOf } from './row-name.ts'
import type { WorkingSet } from './working-set.ts'

export class WorkingDependents {
  readonly #set: WorkingSet
  readonly #byName = new Map<string, DependentSet>()
  /** Names of erased chains that had dependents. */
  readonly #orphaned = new Set<string>()

  constructor(set: WorkingSet) {
    this.#set = set
  }

  values(): Iterable<DependentSet> {
    return this.#byName.values()
  }

  of(chain: PostgresJob): Moves.Dependents {
    const key = encodeText(chain.id)
    const name = nameOf(chain.type.tid, key)
    // Read when it is needed: their number is known without them.
    const dependents = (): DependentSet => this.#setOf(chain, name, key)
    const change = (by: number, isChanged: boolean): boolean => {
      if (!isChanged) return false
      chain.dependentCount += by
      this.#set.touch(chain)
      return true
    }
    return {
      get size() {
        return chain.dependentCount
      },
      [Symbol.iterator]: () => this.#set.lockedJobsOf(dependents().inOrder()).values(),
      add: (job) => {
        // The dependents of an erased chain do not wait for a new chain of the same name.
        if (this.#orphaned.delete(name)) dependents().present.clear()
        return change(1, dependents().add(job.accepted))
      },
      delete: (job) => change(-1, dependents().present.delete(job.accepted)),
    }
  }

  #setOf(chain: PostgresJob, name: string, key: string): DependentSet {
    const known = this.#byName.get(name)
    if (known) return known
    const { isSnapshot, loaded } = this.#set
    const { tid } = chain.type
    // The count of a locked row is right: with 0 there is nothing to read.
    const seqs = chain.dependentCount === 0 || isSnapshot ? [] : loaded.dependents.get(name)
    if (!seqs) {
      this.#wantAll()
      loaded.wanted.dependents.set(name, { tid, key })
      this.#set.miss()
    }
    const dependents = new DependentSet(tid, key, seqs!)
    this.#byName.set(name, dependents)
    return dependents
  }

  /** A call that changes the dependents of one chain changes those of the others too: all that miss are requested at once. */
  #wantAll(): void {
    const { wanted, dependents } = this.#set.loaded
    for (const { row } of this.#set.loaded.locked()) {
      if (row[cell.dependents] === null) continue
      const [tid, key] = [Number(row[cell.tid]), row[cell.id]!]
      const name = nameOf(tid, key)
      if (!dependents.has(name)) wanted.dependents.set(name, { tid, key })
    }
  }

  /** The chain of this name is erased. */
  orphan(chain: PostgresJob, name: string): void {
    if (chain.dependentCount === 0) return
    this.#setOf(chain, name, encodeText(chain.id))
    this.#orphaned.add(name)
  }

  /** The dependents of the replaced chain wait for the new chain of its name. */
  inherit(chain: PostgresJob, replaced: PostgresJob): void {
    chain.dependentCount = replaced.dependentCount
    this.#orphaned.delete(nameOf(chain.type.tid, encodeText(chain.id)))
  }

  /** Call it when the rules have run: erased chains lose their dependents. */
  end(): void {
    for (const name of this.#orphaned) this.#byName.get(name)?.present.clear()
  }
}
