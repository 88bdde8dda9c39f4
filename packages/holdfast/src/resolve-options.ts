// Options are resolved once, at the edge: unknown keys and impossible values are refused here, and the code inside receives
// complete records. The tables are in options.ts, here and in storage/, chains/ and tasks/.

import { invalidArgument } from './errors.ts'

/** Throws unless the value fits. */
export type Check = (name: string, value: unknown) => void

export interface Option<T> {
  /** Absent: the option is required, or its absence has a meaning of its own. */
  readonly default?: T
  readonly check: Check
}

export type Table = Readonly<Record<string, Option<unknown>>>

type Resolved<Given, T extends Table> = Given & {
  [K in keyof T as T[K] extends { default: unknown } ? K : never]-?: K extends keyof Given
    ? Exclude<Given[K], undefined>
    : never
}

/** The given options over the defaults. Throws INVALID_ARGUMENT. @param where for the message, such as 'Queue' */
export function resolveOptions<Given extends object, const T extends Table>(
  where: string,
  given: Given | undefined,
  table: T,
): Resolved<Given, T> {
  if (given !== undefined && (given === null || typeof given !== 'object' || Array.isArray(given))) {
    throw invalidArgument(`${where} options`, 'an object', given)
  }
  const values = (given ?? {}) as Record<string, unknown>
  const resolved: Record<string, unknown> = {}
  for (const key of Object.keys(values)) {
    if (!Object.hasOwn(table, key)) throw unknownOption(where, key, Object.keys(table))
    if (values[key] === undefined) continue
    table[key]!.check(key, values[key])
    resolved[key] = values[key]
  }
  for (const key of Object.keys(table)) {
    if (resolved[key] === undefined && table[key]!.default !== undefined) resolved[key] = table[key]!.default
  }
  return resolved as Resolved<Given, T>
}

function unknownOption(where: string, key: string, known: readonly string[]): TypeError {
  const nearest = known.toSorted((a, b) => distance(key, a) - distance(key, b))[0]!
  return invalidArgument(`${where} options`, `one of ${known.join(', ')} (did you mean ${nearest}?)`, key)
}

/** Edits between two short words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= Math.min(a.length, 64); i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1]!.toLowerCase() === b[j - 1]!.toLowerCase()
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}
