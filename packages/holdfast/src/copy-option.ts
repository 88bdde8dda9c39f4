// Copies of options that are data. What is checked is the copy, and what is used is the copy: a getter cannot answer differently
// between the two. A getter that throws, or a proxy, becomes an error that names the option.

import { plainDetails } from './error-details.ts'
import { invalidArgument } from './errors.ts'

/** Options are nested at most so deep: what is deeper is refused by its check, unread. */
const depth = 3

/**
 * A copy of plain objects and arrays; any other value is returned as it is.
 * @param path for the message @throws TypeError INVALID_ARGUMENT if a getter throws
 */
export function copyOf(path: string, value: unknown, left = depth): unknown {
  if (value === null || typeof value !== 'object' || left === 0) return value
  if (readable(path, () => Array.isArray(value))) {
    const items = readable(path, () => Array.from(value as unknown[]))
    return items.map((item, index) => copyOf(`${path}[${index}]`, item, left - 1))
  }
  if (!readable(path, () => isPlain(value))) return value
  const copy: Record<string, unknown> = {}
  for (const key of readable(path, () => Object.keys(value))) {
    const at = `${path}.${key}`
    const read = readable(at, () => (value as Record<string, unknown>)[key])
    const item = copyOf(at, read, left - 1)
    // Defined, not assigned: a key may be `__proto__`.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: item, enumerable: true })
    else copy[key] = item
  }
  return copy
}

/** Reads a value of the caller. @param path for the message @throws TypeError INVALID_ARGUMENT if a getter or a proxy throws */
export function readable<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** The error of a value whose getter, or whose proxy, threw. */
export function unreadable(path: string, cause: unknown): TypeError {
  const error = invalidArgument(path, 'a value whose getters do not throw', plainDetails(cause).message)
  return Object.assign(error, { cause })
}

/** Whether it is an object of the language itself, of no class. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
