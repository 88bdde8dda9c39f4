// The turns and limits of types in one run of the rules.

import { emptyFlow, type Flow } from '../../rules/flow.ts'
import type { Value } from '../connection/database.ts'
import { flowCells, needsRules, type StoredFlow } from './flow.ts'
import type { FinalNumber } from './job.ts'
import type { PostgresType } from './type-registry.ts'
import type { WorkingSet } from './working-set.ts'

type ChangedFlow = Pick<StoredFlow, 'flow' | 'isCapped'>

export class WorkingFlows {
  readonly #set: WorkingSet
  readonly #changed = new Map<number, ChangedFlow>()

  constructor(set: WorkingSet) {
    this.#set = set
  }

  of({ tid }: PostgresType): Flow | undefined {
    const { loaded, isSnapshot } = this.#set
    const changed = this.#changed.get(tid)
    if (changed) return changed.flow
    const stored = loaded.flows.get(tid)
    if (!stored) {
      // Nothing of it matters to a call that is no claim: it is neither slowed nor full.
      if (isSnapshot || !loaded.ruled.has(tid)) return undefined
      loaded.wanted.flows.add(tid)
      return this.#set.miss()
    }
    // Without the lock, a claim may be about to find the type full: a wake too many does no harm.
    if (!stored.isLocked && stored.isCapped) return { ...(stored.flow ?? emptyFlow), isFull: true }
    return stored.flow
  }

  change(type: PostgresType, changes: Partial<Flow>): void {
    const { tid } = type
    const stored = this.#set.loaded.flows.get(tid)
    if (!stored?.isLocked) {
      // A user's transaction may stay open for long: it does not lock the type only to note that it is not full.
      if (stored && Object.keys(changes).every((name) => name === 'isFull')) return
      this.#set.loaded.wanted.flowLocks.add(tid)
      this.#set.miss()
    }
    const before = this.#changed.get(tid) ?? stored!
    this.#changed.set(tid, { ...before, flow: { ...(before.flow ?? emptyFlow), ...changes } })
  }

  /** Jobs of the type were leased under a concurrency. */
  cap(type: PostgresType): void {
    const { isCapped = false } = this.#changed.get(type.tid) ?? this.#set.loaded.flows.get(type.tid) ?? {}
    if (isCapped) return
    this.change(type, {})
    this.#changed.set(type.tid, { ...this.#changed.get(type.tid)!, isCapped: true })
  }

  /** The cells of the rows to write. */
  cells(now: number, final: FinalNumber): Value[][] {
    const changed = new Map(this.#changed)
    // A slow-down that is over: fast paths may have the type again.
    for (const [tid, stored] of this.#set.loaded.flows) {
      if (stored.isLocked && stored.isRuled && !needsRules(stored, now) && !changed.has(tid)) changed.set(tid, stored)
    }
    return [...changed].map(([tid, flow]) => flowCells(tid, flow, now, final))
  }
}
