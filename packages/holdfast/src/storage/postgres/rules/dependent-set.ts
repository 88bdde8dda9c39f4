// The dependents of one chain, by the seqs of their jobs: as they were read, and as they are to be written.

export class DependentSet {
  readonly tid: number
  readonly key: string
  readonly #before: ReadonlySet<number>
  readonly present: Set<number>

  constructor(tid: number, key: string, before: readonly number[]) {
    this.tid = tid
    this.key = key
    this.#before = new Set(before)
    this.present = new Set(before)
  }

  /** False if it was there. */
  add(seq: number): boolean {
    if (this.present.has(seq)) return false
    this.present.add(seq)
    return true
  }

  inOrder(): number[] {
    return [...this.present].toSorted((a, b) => a - b)
  }

  get added(): number[] {
    return [...this.present].filter((seq) => !this.#before.has(seq))
  }

  get deleted(): number[] {
    return [...this.#before].filter((seq) => !this.present.has(seq))
  }
}
