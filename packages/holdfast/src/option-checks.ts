// Checks of option values that more than one table uses.

import { types } from 'node:util'
import { isPlain, readable } from './copy-option.ts'
import { invalidArgument } from './errors.ts'
import { type Check, resolveNested, type Table } from './resolve-options.ts'

export const [dayMs, yearMs] = [86_400_000, 365 * 86_400_000]

/** Accepts every value: the code that uses it checks it. */
export const anything = { check: () => {} } as const

/** Checks an id, name or key: 1 … maxBytes bytes of UTF-8 that every database can hold. @throws TypeError INVALID_ARGUMENT */
export function checkText(name: string, value: unknown, maxBytes: number): asserts value is string {
  if (typeof value !== 'string') throw invalidArgument(name, 'a string', value)
  // A code unit is at most three bytes, so most texts need no counting.
  const fits = value.length * 3 <= maxBytes || Buffer.byteLength(value) <= maxBytes
  if (value === '' || !fits) throw invalidArgument(name, `1 … ${maxBytes} bytes of UTF-8`, value)
  if (value.includes('\0')) throw invalidArgument(name, 'text without U+0000', value)
  if (!value.isWellFormed()) throw invalidArgument(name, 'text without lone surrogates', value)
}

/** Checks the id of a job. @throws TypeError INVALID_ARGUMENT */
export function checkId(value: unknown): asserts value is string {
  checkText('id', value, 512)
}

export function text(maxBytes: number): Check {
  return (name, value) => checkText(name, value, maxBytes)
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): Check {
  const expected = max === Number.MAX_SAFE_INTEGER ? `an integer >= ${min}` : `an integer ${min} … ${max}`
  return (name, value) => {
    if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
      throw invalidArgument(name, expected, value)
    }
  }
}

export function integerOrInfinity(min: number): Check {
  return (name, value) => {
    if (value !== Infinity && (!Number.isInteger(value) || (value as number) < min)) {
      throw invalidArgument(name, `an integer >= ${min}, or Infinity`, value)
    }
  }
}

export function positive(name: string, value: unknown): void {
  if (!Number.isFinite(value) || (value as number) <= 0) throw invalidArgument(name, 'a number > 0', value)
}

export function positiveOrInfinity(name: string, value: unknown): void {
  if (typeof value !== 'number' || !(value > 0)) throw invalidArgument(name, 'a number > 0, or Infinity', value)
}

/** A duration in seconds. A value of 1,000 or more is taken for milliseconds. */
export function seconds(word: string): Check {
  return (name, value) => {
    positive(name, value)
    if ((value as number) >= 1_000) {
      throw invalidArgument(name, `seconds, below 1000 (did you mean ${word}, in ms?)`, value)
    }
  }
}

export function nonNegative(name: string, value: unknown): void {
  if (!Number.isFinite(value) || (value as number) < 0) throw invalidArgument(name, 'a number >= 0', value)
}

export function atLeastOne(name: string, value: unknown): void {
  if (!Number.isFinite(value) || (value as number) < 1) throw invalidArgument(name, 'a number >= 1', value)
}

export function isJitter(name: string, value: unknown): void {
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) throw invalidArgument(name, 'a number 0 … 1', value)
}

export function oneOf(...words: readonly string[]): Check {
  const expected = words
    .map((word) => `'${word}'`)
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' or ')
  return (name, value) => {
    if (!words.includes(value as string)) throw invalidArgument(name, expected, value)
  }
}

export function isBoolean(name: string, value: unknown): void {
  if (typeof value !== 'boolean') throw invalidArgument(name, 'true or false', value)
}

export function isFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw invalidArgument(name, 'a function', value)
}

export function isObject(name: string, value: unknown): void {
  if (value === null || typeof value !== 'object') throw invalidArgument(name, 'an object', value)
}

/** Fields by name. Not a Map, nor an instance of a class, of which no field would be seen. */
export function isFields(name: string, value: unknown): void {
  const fits = value !== null && typeof value === 'object' && !Array.isArray(value) && isPlain(value)
  if (!fits) throw invalidArgument(name, 'an object of fields', value)
}

export function hasMethods(what: string, methods: readonly string[]): Check {
  return (name, value) => {
    const isOne = value !== null && typeof value === 'object'
    const fits = isOne && readable(name, () => methods.every((method) => isCallable(value, method)))
    if (!fits) throw invalidArgument(name, what, value)
  }
}

export const isCallable = (value: object, method: string): boolean =>
  typeof (value as Record<string, unknown>)[method] === 'function'

export function isList(name: string, value: unknown): void {
  if (!readable(name, () => Array.isArray(value))) throw invalidArgument(name, 'an array', value)
}

/** Checks and copies a list. @throws TypeError INVALID_ARGUMENT */
export function listOf(name: string, value: unknown): unknown[] {
  isList(name, value)
  return readable(name, () => Array.from(value as unknown[]))
}

export function isSignal(name: string, value: unknown): void {
  if (!(value instanceof AbortSignal)) throw invalidArgument(name, 'an AbortSignal', value)
}

/** The last instant that a Date can represent. */
const latestInstant = 8_640_000_000_000_000

export function isInstant(name: string, value: unknown): void {
  // oxlint-disable-next-line no-restricted-globals -- a type test: no time is read
  const at = types.isDate(value) ? Number(Date.prototype.getTime.call(value)) : value
  const isOne = Number.isFinite(at) && Math.abs(at as number) <= latestInstant
  if (!isOne) throw invalidArgument(name, 'a valid Date, or epoch ms', at)
}

/** Checks the retention of one end state. */
export function isAge(name: string, value: unknown): void {
  const { ageMs } = resolveNested(name, value as { ageMs?: number }, ageOptions)
  if (ageMs === undefined) throw invalidArgument(`${name}.ageMs`, 'an integer >= 0, or Infinity', ageMs)
}

const ageOptions = { ageMs: { check: integerOrInfinity(0) } } as const satisfies Table

export function isClock(name: string, value: unknown): void {
  hasMethods('a Clock', ['now', 'monotonic', 'after', 'soon', 'random', 'newId'])(name, value)
}
