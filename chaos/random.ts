// All randomness of a run comes from here and follows from the seed: the plan of faults, the jobs, the calls. (The
// interleaving of the processes does not: the seed fixes the plan only.)

export interface Random {
  /** In [0, 1). */
  next(): number
  between(low: number, high: number): number
  /** Both ends included. */
  integer(low: number, high: number): number
  pick<T>(items: readonly T[]): T
  shuffled<T>(items: readonly T[]): T[]
}

/** @param purpose gives each part of a run its own sequence */
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
