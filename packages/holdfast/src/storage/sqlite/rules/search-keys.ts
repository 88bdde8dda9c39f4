// Search fields as keys of holdfast_search. SQLite orders numbers before texts and texts before bytes: so numbers are stored as
// they are, booleans as texts, and texts as bytes. Then a range of one kind has no values of another.

import type { SearchRange, SearchValue, Where } from '../../storage.ts'

export type SearchKey = number | string | Uint8Array

export const searchKey = (value: SearchValue): SearchKey =>
  typeof value === 'string' ? textKey(value) : typeof value === 'boolean' ? String(value) : value

/**
 * UTF-8, but for surrogates, which are three bytes each. So bytes compare as JavaScript compares texts: by code units. A lone
 * surrogate stays what it is, too.
 */
export function textKey(text: string): Uint8Array {
  if (!/[\ud800-\udfff]/.test(text)) return Buffer.from(text)
  return Buffer.concat(text.split('').map((unit) => unitKey(unit.charCodeAt(0))))
}

const unitKey = (unit: number): Uint8Array =>
  unit < 0xd800 || unit > 0xdfff
    ? Buffer.from(String.fromCharCode(unit))
    : Buffer.of(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f))

/** Bounds of keys, both inclusive. */
export type KeyRange = readonly [low: SearchKey, high: SearchKey]

/** No byte of a text is 255. */
const beyondTexts = Buffer.of(0xff)

/** The keys that a condition may match, in their order, each once. The rule decides about each job that they find (rules/search.ts). */
export function keyRanges(wanted: Where[string]): readonly KeyRange[] {
  if (typeof wanted === 'object' && !Array.isArray(wanted)) return rangeOf(wanted as SearchRange)
  const values = typeof wanted === 'object' ? (wanted as readonly SearchValue[]) : [wanted as SearchValue]
  const keys = [...new Set(values)].map(searchKey).toSorted(compareKeys)
  return keys.map((key) => [key, key])
}

function rangeOf({ gt, gte, lt, lte }: SearchRange): readonly KeyRange[] {
  const bounds = [gt, gte, lt, lte].filter((bound) => bound !== undefined)
  const isText = typeof bounds[0] === 'string'
  // A text is neither above nor below a number.
  if (bounds.some((bound) => (typeof bound === 'string') !== isText)) return []
  const low = gt ?? gte
  const high = lt ?? lte
  return isText
    ? [[searchKey(low ?? ''), high === undefined ? beyondTexts : searchKey(high)]]
    : [[low ?? -Infinity, high ?? Infinity]]
}

const rankOf = (key: SearchKey): number => (typeof key === 'number' ? 0 : typeof key === 'string' ? 1 : 2)

/** In the order of SQLite. */
export function compareKeys(a: SearchKey, b: SearchKey): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b)
  if (typeof a === 'string' && typeof b === 'string') return a === b ? 0 : a < b ? -1 : 1
  return rankOf(a) - rankOf(b)
}
