// All chance of a run comes from here, and all of it from the seed: the plan of faults, the jobs, the errands. (What the
// processes meet on their way does not: the seed fixes the plan, not the interleaving.)

export interface Random {
  /** 0 … 1, without 1. */
  next(): number
  between(low: number, high: number): number
  /** Both included. */
  integer(low: number, high: number): number
  pick<T>(items: readonly T[]): T
  shuffled<T>(items: readonly T[]): T[]
}

/** @param purpose so that the parts of a run draw from sequences of their own */
export function randomOf(seed: number, purpose: string): Random {
  const next = mulberry32(hash(`${seed}/${purpose}`))
  const integer = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    integer,
    between: (low, high) => low + next() * (high - low),
    pick: (items) => items[integer(0, items.length - 1)]!,
    shuffled(items) {
      const rest = [...items]
      return items.map(() => rest.splice(integer(0, rest.length - 1), 1)[0]!)
    },
  }
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193)
  return value >>> 0
}

function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
