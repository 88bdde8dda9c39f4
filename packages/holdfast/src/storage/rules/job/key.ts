// Deduplication keys: how long one is held, and when it is free again.

import type { TerminalState } from './states.ts'
import { isGone, type Job, type Mark, type Move } from '../move.ts'

export function isInForce(move: Move, mark: Mark): boolean {
  if (mark.until !== Infinity) return move.now < mark.until
  return mark.job !== undefined && !isGone(move, mark.job)
}

/** Frees the key of an ended chain, unless its window goes on. */
export function freeKey(move: Move, chain: Job, state: TerminalState): void {
  const { mark } = chain
  if (!mark || mark.shared) return
  if (mark.mode === 'simple' || state !== 'completed') dropKey(move, chain, mark)
}

/** Frees the key of a deleted record. A window outlives the record. */
export function forgetKey(move: Move, chain: Job): void {
  const { mark } = chain
  if (mark && (mark.mode === 'simple' || mark.until === Infinity)) dropKey(move, chain, mark)
}

/** Takes the key of a revived chain again. False if another job holds it now. */
export function retakeKey(move: Move, chain: Job): boolean {
  const { mark } = chain
  if (!mark || mark.shared) return true
  const holder = move.markOf(chain.type, mark.key)
  if (holder === mark) return true
  if (holder && isInForce(move, holder)) return false
  if (mark.until > move.now) chain.mark = move.holdKey(chain, mark)
  return true
}

function dropKey(move: Move, chain: Job, mark: Mark): void {
  if (move.markOf(chain.type, mark.key) === mark) move.dropKey(chain.type, mark)
}
