// Options are resolved once, at the edge: unknown keys and impossible values are refused here, and the code inside receives
// complete records under one vocabulary. Each face has its tables in its own options.ts; engine/options.ts has the shared rows.

import { copyOf, isPlain, unreadable } from './copy-option.ts'
import { invalidArgument, isRefusal } from './errors.ts'
import { noteOn, suggestion } from './option-suggestions.ts'

/** Throws unless the value fits. */
export type Check = (name: string, value: unknown) => void

interface Option<T> {
  /** Absent: the option is required, or its absence has a meaning of its own. */
  readonly default?: T
  readonly check: Check
  /** The value is data of plain objects: it is read once, and what is checked is what is used, whatever its getters return next. */
  readonly isData?: true
}

/** Another name of one or several options. Its value is checked, converted, and resolved under the words it stands for. */
interface Alias {
  /** The word; or a list of words, and then the value is a record of some of them. */
  readonly alias: string | readonly string[]
  readonly check: Check
  readonly isData?: true
  /** Absent: the value is the same. */
  readonly convert?: (value: never) => unknown
}

/** An option that is accepted and has no effect, such as one of a seed that the engine does not need. */
interface Ignored {
  readonly ignored: true
  readonly check: Check
}

export type Row = Option<unknown> | Alias | Ignored
export type Table = Readonly<Record<string, Row>>

type Words<T extends Table> = { [K in keyof T]: T[K] extends Alias | Ignored ? never : K }[keyof T]

type Resolved<Given, T extends Table> = Pick<Given, keyof Given & Words<T>> & {
  [K in Words<T> as T[K] extends { default: unknown } ? K : never]-?: K extends keyof Given
    ? Exclude<Given[K], undefined>
    : never
}

/**
 * Resolves the given options over the defaults of the table, aliases under their words.
 * @param where for the message, such as 'Queue'
 * @param path what precedes the names of the options in messages, such as 'limits.'
 * @throws TypeError INVALID_ARGUMENT
 */
export function resolveOptions<Given extends object, const T extends Table>(
  where: string,
  given: Given | undefined,
  table: T,
  path = '',
): Resolved<Given, T> {
  let at = `${where} options`
  try {
    const values = (given === undefined ? {} : given) as Record<string, unknown>
    const keys = keysOf(at, values)
    const resolved: Record<string, unknown> = {}
    for (const key of keys) {
      if (!Object.hasOwn(table, key)) throw unknownOption(where, key, Object.keys(table))
      at = path === '' ? key : path + key
      const read = values[key]
      if (read === undefined) continue
      const row: Row = table[key]!
      const value = 'isData' in row ? copyOf(at, read) : read
      row.check(at, value)
      if ('alias' in row) resolveAlias(where, key, row, value, values, resolved)
      else if (!('ignored' in row)) resolved[key] = value
    }
    for (const [key, value] of defaultsOf(table)) if (resolved[key] === undefined) resolved[key] = value
    return resolved as Resolved<Given, T>
  } catch (error) {
    if (isRefusal(error)) throw error
    throw unreadable(at, error)
  }
}

/** Resolves the options inside the option `name`: messages have the whole path, such as 'limits.group.limit'. */
export function resolveNested<Given extends object, const T extends Table>(
  name: string,
  given: Given | undefined,
  table: T,
): Resolved<Given, T> {
  return resolveOptions(name, given, table, `${name}.`)
}

/** @throws TypeError INVALID_ARGUMENT unless it is an object with options */
function keysOf(name: string, values: unknown): string[] {
  if (values === null || typeof values !== 'object' || Array.isArray(values)) {
    throw invalidArgument(name, 'an object', values)
  }
  const keys = Object.keys(values)
  // A Map or a Date has no keys: without this, all that it was meant to say would be left out.
  if (keys.length === 0 && !isPlain(values)) throw invalidArgument(name, 'an object of options', values)
  return keys
}

/** Found once per table: options are resolved for every job. */
const defaults = new WeakMap<Table, readonly (readonly [key: string, value: unknown])[]>()

function defaultsOf(table: Table): readonly (readonly [key: string, value: unknown])[] {
  let found = defaults.get(table)
  if (!found) {
    found = Object.entries(table).flatMap(([key, row]) =>
      'default' in row && row.default !== undefined ? [[key, row.default] as const] : [],
    )
    defaults.set(table, found)
  }
  return found
}

function resolveAlias(
  where: string,
  key: string,
  { alias, convert }: Alias,
  given: unknown,
  values: Record<string, unknown>,
  resolved: Record<string, unknown>,
): void {
  const converted: unknown = convert ? convert(given as never) : given
  const words = typeof alias === 'string' ? { [alias]: converted } : (converted as Record<string, unknown>)
  for (const [word, value] of Object.entries(words)) {
    if (value === undefined) continue
    if (values[word] !== undefined || resolved[word] !== undefined) {
      throw invalidArgument(`${where} options`, `either ${word} or its alias ${key}`, values)
    }
    resolved[word] = value
  }
}

function unknownOption(where: string, key: string, known: readonly string[]): TypeError {
  const note = noteOn(where, key)
  const meant = suggestion(key, known)
  const hint = note !== undefined ? ` (${note})` : meant === undefined ? '' : ` (did you mean ${meant}?)`
  return invalidArgument(`${where} options`, `one of ${known.join(', ')}${hint}`, key)
}
