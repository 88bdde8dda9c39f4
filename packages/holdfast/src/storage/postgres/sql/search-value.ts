// Search values as bytes that sort as the values do, so that one index serves texts, numbers and booleans, and every condition of a
// `where` is a list of intervals of bytes. A value of another kind is in no interval of this kind.

import type { SearchRange, SearchValue, Where } from '../../storage.ts'

/** First byte, by kind. */
const tags = { boolean: 1, number: 2, string: 3 } as const
type Kind = keyof typeof tags

/** Bytes from `from` on and before `to`. */
interface Interval {
  readonly from: Buffer
  readonly to: Buffer
}

/** The condition on one field. Without intervals, it matches nothing. */
export interface FieldCondition {
  readonly name: string
  readonly intervals: readonly Interval[]
  /** Each interval has exactly one value. */
  readonly isPoints: boolean
}

export function encodeSearchValue(value: SearchValue): Buffer {
  const tag = Buffer.of(tags[typeof value as Kind])
  if (typeof value === 'boolean') return Buffer.concat([tag, Buffer.of(value ? 1 : 0)])
  return Buffer.concat([tag, typeof value === 'number' ? numberBytes(value) : textBytes(value)])
}

/** The bytes of a double, changed so that they sort by its value. */
function numberBytes(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  // -0 equals 0.
  bytes.writeDoubleBE(value === 0 ? 0 : value)
  const isNegative = bytes[0]! >= 0x80
  for (let index = 0; index < 8; index++) bytes[index]! ^= isNegative ? 0xff : index === 0 ? 0x80 : 0
  return bytes
}

/** UTF-16, the higher byte first: sorts as JavaScript compares, and holds every text, half surrogate pairs too. */
const textBytes = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16()

/** The conditions of a `where`, the one that is likely to match the fewest jobs first. */
export function conditionsOf(where: Where): FieldCondition[] {
  return Object.entries(where)
    .map(([name, wanted]) => conditionOf(name, wanted))
    .toSorted((a, b) => rankOf(a) - rankOf(b))
}

/** Booleans match many jobs, and ranges may match all. */
function rankOf({ intervals, isPoints }: FieldCondition): number {
  if (!isPoints) return Infinity
  return intervals.some(({ from }) => from[0] === tags.boolean) ? 2_000 : intervals.length
}

function conditionOf(name: string, wanted: Where[string]): FieldCondition {
  if (typeof wanted === 'object' && !Array.isArray(wanted)) {
    return { name, intervals: rangeOf(wanted as SearchRange), isPoints: false }
  }
  const values = new Map<string, Buffer>()
  for (const value of (Array.isArray(wanted) ? wanted : [wanted]) as SearchValue[]) {
    const bytes = encodeSearchValue(value)
    values.set(bytes.toString('hex'), bytes)
  }
  const sorted = [...values.values()].toSorted(Buffer.compare)
  return { name, intervals: sorted.map((from) => ({ from, to: after(from) })), isPoints: true }
}

/** Bounds of two kinds have no value between them. */
function rangeOf({ gt, gte, lt, lte }: SearchRange): Interval[] {
  const bounds = [gt, gte, lt, lte].filter((bound) => bound !== undefined)
  const kinds = new Set(bounds.map((bound) => typeof bound))
  if (kinds.size !== 1) return []
  const tag = tags[typeof bounds[0] as Kind]
  const from = greatest([
    Buffer.of(tag),
    ...(gte === undefined ? [] : [encodeSearchValue(gte)]),
    ...(gt === undefined ? [] : [after(encodeSearchValue(gt))]),
  ])
  const to = least([
    Buffer.of(tag + 1),
    ...(lt === undefined ? [] : [encodeSearchValue(lt)]),
    ...(lte === undefined ? [] : [after(encodeSearchValue(lte))]),
  ])
  return Buffer.compare(from, to) < 0 ? [{ from, to }] : []
}

/** The bytes directly behind these. */
const after = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.of(0)])

const greatest = (all: readonly Buffer[]): Buffer => all.toSorted(Buffer.compare).at(-1)!
const least = (all: readonly Buffer[]): Buffer => all.toSorted(Buffer.compare)[0]!
