// Random inputs from a seed: valid ones that were changed, or none of the kind at all. The same seed gives the same inputs.

export interface Random {
  /** 0 … below n. */
  below(n: number): number
  pick<T>(items: readonly T[]): T
}

/** A generator of 32 bits: enough to choose by, and the same on every machine. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const below = (n: number): number => Math.floor((next() / 2 ** 32) * n)
  return { below, pick: (items) => items[below(items.length)]! }
}

/** Parts that parsers trip over. */
const tokens: readonly string[] = [
  ...'\0 \n \t " \' \\ / % * ? [ ] { } ( ) < > = , ; : . - + @ # $ & | ~ ^ !'.split(' '),
  '\ud800',
  '\udfff',
  '\u202e',
  '👩‍👩‍👧',
  'e\u0301',
  '__proto__',
  'constructor',
  'null',
  'NaN',
  '-1',
  '1e999',
  '9007199254740993',
  '0x10',
  '%00',
  '%2e%2e',
  '../',
  '[[[[[[[[',
  '{"a":',
  'a'.repeat(300),
]

const characterOf = (random: Random): string =>
  random.below(4) === 0 ? String.fromCharCode(random.below(0x10000)) : String.fromCharCode(32 + random.below(95))

/** A text that is none of the kind. */
function noise(random: Random): string {
  let text = ''
  for (let left = random.below(40); left > 0; left--)
    text += random.below(3) === 0 ? random.pick(tokens) : characterOf(random)
  return text
}

/** One change to a text. */
function changed(random: Random, text: string, valid: readonly string[]): string {
  const at = random.below(text.length + 1)
  const to = Math.min(text.length, at + 1 + random.below(8))
  switch (random.below(8)) {
    case 0:
      return text.slice(0, at) + text.slice(to)
    case 1:
      return text.slice(0, at) + characterOf(random) + text.slice(at + 1)
    case 2:
      return text.slice(0, at) + random.pick(tokens) + text.slice(at)
    case 3:
      return text.slice(0, to) + text.slice(at)
    case 4:
      return text.slice(0, at)
    case 5: {
      const other = random.pick(valid)
      return text.slice(0, at) + other.slice(random.below(other.length + 1))
    }
    case 6:
      return text.slice(0, at) + String(random.pick([0, -1, 1e9, 2 ** 53, 0.1, 60, 99])) + text.slice(to)
    default:
      return text.slice(0, at) + text.slice(at, to).repeat(1 + random.below(50)) + text.slice(to)
  }
}

/** @param valid inputs of the kind */
export function mutated(random: Random, valid: readonly string[]): string {
  if (random.below(20) === 0) return noise(random)
  let text = random.pick(valid)
  for (let left = random.below(4); left > 0; left--) text = changed(random, text, valid)
  return text.slice(0, 300_000)
}

/** The same for bytes. */
export function mutatedBytes(random: Random, valid: readonly Uint8Array[]): Uint8Array {
  const bytes = Uint8Array.from(random.pick(valid))
  if (random.below(20) === 0) return Uint8Array.from({ length: random.below(60) }, () => random.below(256))
  for (let left = random.below(4); left > 0 && bytes.length > 0; left--)
    bytes[random.below(bytes.length)] = random.below(256)
  const [from, to] = [
    random.below(4) === 0 ? random.below(bytes.length + 1) : 0,
    random.below(3) === 0 ? random.below(bytes.length + 1) : bytes.length,
  ]
  return bytes.slice(Math.min(from, to), to)
}
