// The dependents of chains: the unfinished jobs that name a chain as a blocker, one row each, under the name of the chain.

import type * as Moves from '../../rules/move.ts'
import type { Statements } from '../connection/statements.ts'
import type { SqliteJob } from './job.ts'
import type { JobRows } from './job-rows.ts'
import { nameOf } from './type.ts'

export class DependentRows {
  readonly #statements: Statements
  readonly #jobs: JobRows
  /** Erased chains that still have dependents. */
  readonly #orphaned = new Map<string, SqliteJob>()

  constructor(statements: Statements, jobs: JobRows) {
    this.#statements = statements
    this.#jobs = jobs
  }

  of(chain: SqliteJob): Moves.Dependents {
    const statements = this.#statements
    const { id, type } = chain
    const all = (): SqliteJob[] =>
      (statements.dependents.all(type.tid, id) as unknown as [number][]).flatMap(([seq]) => this.#jobs.bySeq(seq) ?? [])
    const change = (by: number, changes: number | bigint): boolean => {
      if (Number(changes) === 0) return false
      chain.dependentCount += by
      this.#jobs.touch(chain)
      return true
    }
    return {
      get size() {
        return chain.dependentCount
      },
      [Symbol.iterator]: () => all().values(),
      add: (job) => {
        this.#eraseOrphans(chain)
        return change(1, statements.addDependent.run(type.tid, id, job.accepted).changes)
      },
      delete: (job) => change(-1, statements.eraseDependent.run(type.tid, id, job.accepted).changes),
    }
  }

  /** The chain is erased. Its dependents are erased before the commit, unless another chain inherits them. */
  orphan(chain: SqliteJob): void {
    if (chain.dependentCount > 0) this.#orphaned.set(nameOf(chain.type, chain.id), chain)
  }

  /** Gives the dependents of an erased chain to the chain that replaces it under the same name. */
  inherit(chain: SqliteJob, replaced: SqliteJob): void {
    chain.dependentCount = replaced.dependentCount
    this.#orphaned.delete(nameOf(chain.type, chain.id))
  }

  /** Before a commit. */
  eraseAllOrphans(): void {
    for (const chain of this.#orphaned.values()) this.#eraseOrphans(chain)
  }

  forget(): void {
    this.#orphaned.clear()
  }

  /** The dependents of an erased chain do not depend on a new chain of the same name that did not inherit them. */
  #eraseOrphans({ type, id }: SqliteJob): void {
    if (this.#orphaned.delete(nameOf(type, id))) this.#statements.eraseDependents.run(type.tid, id)
  }
}
