// What is stored of an error. Making it never throws, whatever was thrown.

import { inspect, types } from 'node:util'
import type { ErrorDetails } from './errors.ts'

const maxBytes = 65_536
const maxDepth = 5

/** Anything thrown, as an Error: itself, or wrapped with itself as the cause; wrapped too if its message cannot be read. */
export function asError(thrown: unknown): Error {
  if (isError(thrown) && safely(() => typeof thrown.message === 'string')) return thrown
  return new Error(messageOf(thrown), { cause: thrown })
}

export function errorDetails(thrown: unknown): ErrorDetails {
  return detailsOf(thrown, 0, ownJson)
}

/** The same without asking any toJSON: for the one that is part of ours. */
export function plainDetails(thrown: unknown): ErrorDetails {
  return detailsOf(thrown, 0, () => undefined)
}

/** At most 64 KiB of JSON, or so many bytes: long strings are cut until it fits. */
export function encodeError(thrown: unknown, most = maxBytes): Uint8Array {
  const details = errorDetails(thrown)
  for (let longest = most; longest >= 16; longest = longest >> 1) {
    const json = stringify(details, longest)
    if (json !== undefined && Buffer.byteLength(json) <= most) return Buffer.from(json)
  }
  return Buffer.from(JSON.stringify({ message: details.message.slice(0, 1_000) }))
}

/** Stored details, or what can be made of bytes that somebody else wrote. */
export function decodeError(bytes: Uint8Array | undefined): ErrorDetails {
  if (bytes === undefined) return { message: 'no error was recorded' }
  const text = Buffer.from(bytes).toString()
  try {
    const value = JSON.parse(text) as { message?: unknown } | null
    if (typeof value?.message === 'string') return value as ErrorDetails
  } catch {
    // Not ours: shown as it is.
  }
  return { message: text.slice(0, 1_000) }
}

function detailsOf(thrown: unknown, depth: number, ownOf: typeof ownJson): ErrorDetails {
  const own = ownOf(thrown)
  if (own) return typeof own.message === 'string' ? (own as ErrorDetails) : { ...own, message: messageOf(thrown) }
  const message = messageOf(thrown)
  if (!isError(thrown)) return { message }
  // Each by itself: one that cannot be read takes no other with it.
  const read = (key: 'name' | 'code' | 'stack' | 'cause'): unknown => safely(() => Reflect.get(thrown, key) as unknown)
  const [name, code, stack, cause] = [read('name'), read('code'), read('stack'), read('cause')]
  const details: ErrorDetails = typeof name === 'string' ? { name, message } : { message }
  if (typeof code === 'string' || typeof code === 'number') details.code = String(code)
  if (typeof stack === 'string') details.stack = stack
  if (cause !== undefined && depth < maxDepth) details.cause = detailsOf(cause, depth + 1, ownOf)
  return details
}

/** What its own toJSON says, if that is an object that JSON can hold: a copy, so that nothing of it surprises later. */
function ownJson(thrown: unknown): Record<string, unknown> | undefined {
  return safely(() => {
    if (thrown === null || typeof thrown !== 'object') return undefined
    const { toJSON } = thrown as { toJSON?: unknown }
    if (typeof toJSON !== 'function') return undefined
    const value: unknown = toJSON.call(thrown)
    if (value === null || typeof value !== 'object') return undefined
    const copy: unknown = JSON.parse(stringify(value, maxBytes)!)
    const isObject = copy !== null && typeof copy === 'object' && !Array.isArray(copy)
    return isObject ? (copy as Record<string, unknown>) : undefined
  })
}

/** Of other realms too. */
function isError(thrown: unknown): thrown is Error {
  return types.isNativeError(thrown) || (safely(() => thrown instanceof Error) ?? false)
}

function messageOf(thrown: unknown): string {
  if (!isError(thrown)) return describe(thrown)
  const message = safely(() => String(thrown.message))
  return message ?? 'an error whose message cannot be read'
}

/** A printable form of anything, in one line: no JSON, and no stack of an error inside. */
function describe(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  const text = safely(() => inspect(thrown, { depth: 0, breakLength: Infinity, maxStringLength: 1_000 }))
  if (text === undefined) return 'a value that cannot be printed'
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => !line.startsWith('at ')).join(' ')
}

function stringify(value: object, longest: number): string | undefined {
  const cut = (_key: string, item: unknown): unknown => {
    if (typeof item === 'string' && item.length > longest) return `${item.slice(0, longest).toWellFormed()}…`
    return typeof item === 'bigint' ? String(item) : item
  }
  return safely(() => JSON.stringify(value, cut))
}

function safely<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}
