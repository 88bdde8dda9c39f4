// A planted defect: a storage, a process or a connection that is wrong in one way, which the named invariants must find.

import type { MemoryStorage, Storage } from 'holdfast'

export interface Defect {
  readonly name: string
  /** What is wrong, in a sentence. */
  readonly sentence: string
  /** The invariants of which at least one must find it. */
  readonly breaks: readonly string[]
  /** A storage with the defect. @param now storage time in ms */
  plant?(storage: MemoryStorage, now: () => number): Storage
  /** The storage as one process sees it. @param node name of the process */
  atProcess?(storage: Storage, node: string): Storage
}
