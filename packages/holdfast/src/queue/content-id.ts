import { createHash } from 'node:crypto'
import { printable } from '../errors.ts'

/**
 * Makes an id from the content of a value: 32 hex digits of SHA-256 over a canonical form. Equal content has an equal id. The order
 * of keys does not matter; `1` and `'1'` differ, and so do `null` and `undefined`.
 *
 * @throws TypeError on functions, symbols, cycles, and objects whose content cannot be read (Map, Set, …)
 */
export function contentId(payload: unknown): string {
  return createHash('sha256').update(canonical(payload, [])).digest('hex').slice(0, 32)
}

/** Each value starts with a letter for its type, and has a length or a terminator, so that no two values have one form. */
function canonical(value: unknown, ancestors: readonly object[]): string {
  switch (typeof value) {
    case 'string':
      return `s${JSON.stringify(value)}`
    case 'number':
      return `n${Object.is(value, -0) ? '-0' : value};`
    case 'bigint':
      return `i${value};`
    case 'boolean':
      return value ? 't' : 'f'
    case 'undefined':
      return 'u'
    case 'object':
      return value === null ? '0' : canonicalObject(value, ancestors)
    default:
      throw new TypeError(`contentId: expected data, got a ${typeof value}`)
  }
}

function canonicalObject(value: object, ancestors: readonly object[]): string {
  if (ancestors.includes(value)) throw new TypeError('contentId: expected data, got a cycle')
  const inside = [...ancestors, value]
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString('hex')};`
  // oxlint-disable-next-line no-restricted-globals -- a type test: no time is read
  if (value instanceof Date) return `d${value.getTime()};`
  if (Array.isArray(value)) return `[${Array.from(value, (item) => canonical(item, inside)).join('')}]`
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  // The content of a Map, Set, RegExp and the like is not enumerable: all of them would have one id.
  if (entries.length === 0 && !isPlain(value)) throw new TypeError(`contentId: expected data, got ${printable(value)}`)
  return `{${entries.map(([key, item]) => JSON.stringify(key) + canonical(item, inside)).join('')}}`
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
