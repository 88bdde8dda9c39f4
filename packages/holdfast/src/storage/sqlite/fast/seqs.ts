// The rows that a statement changes: as a range if there is no other row in it, which SQLite changes while it reads, or as a list.

import type { StatementSync } from 'node:sqlite'

type Cell = number | string | Uint8Array | null

/** Runs a statement on these rows. @param seqs in any order, each once */
export function runOn(
  { range, list }: { readonly range: StatementSync; readonly list: StatementSync },
  cells: readonly Cell[],
  seqs: readonly number[],
): void {
  const [low, high] = boundsOf(seqs)
  const { changes } =
    high - low === seqs.length - 1 ? range.run(...cells, low, high) : list.run(...cells, JSON.stringify(seqs))
  if (changes !== seqs.length) throw new Error(`SQLite: ${seqs.length} jobs should have changed, and ${changes} have.`)
}

function boundsOf(seqs: readonly number[]): [low: number, high: number] {
  let low = seqs[0]!
  let high = low
  for (const seq of seqs) {
    if (seq < low) low = seq
    else if (seq > high) high = seq
  }
  return [low, high]
}
