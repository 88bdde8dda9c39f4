// What is stored of an error. Making it never throws, whatever was thrown.

import type { ErrorDetails } from '../errors.ts'
import type { Bytes } from '../storage/storage.ts'

const maxBytes = 65_536
const maxDepth = 5

/** Anything thrown, as an Error: itself, or wrapped with itself as the cause. */
export function asError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown
  return new Error(describe(thrown), { cause: thrown })
}

export function errorDetails(thrown: unknown): ErrorDetails {
  try {
    return detailsOf(thrown, 0)
  } catch {
    return { message: 'an error that cannot be read' }
  }
}

/** At most 64 KiB of JSON: long strings are cut until it fits. */
export function encodeError(thrown: unknown): Bytes {
  const details = errorDetails(thrown)
  for (let longest = maxBytes; longest >= 16; longest = longest >> 1) {
    const json = stringify(details, longest)
    if (json !== undefined && Buffer.byteLength(json) <= maxBytes) return Buffer.from(json)
  }
  return Buffer.from(JSON.stringify({ message: details.message.slice(0, 1_000) }))
}

/** Stored details, or what can be made of bytes that somebody else wrote. */
export function decodeError(bytes: Bytes | undefined): ErrorDetails {
  if (bytes === undefined) return { message: 'no error was recorded' }
  const text = Buffer.from(bytes).toString()
  try {
    const value: unknown = JSON.parse(text)
    if (value !== null && typeof value === 'object' && 'message' in value) return value as ErrorDetails
  } catch {
    // Not ours: shown as it is.
  }
  return { message: text.slice(0, 1_000) }
}

function detailsOf(thrown: unknown, depth: number): ErrorDetails {
  const json = ownJson(thrown)
  if (json) return 'message' in json ? (json as ErrorDetails) : { ...json, message: messageOf(thrown) }
  if (!(thrown instanceof Error)) return { message: describe(thrown) }
  const details: ErrorDetails = { name: String(thrown.name), message: messageOf(thrown) }
  const { code } = thrown as { code?: unknown }
  if (typeof code === 'string' || typeof code === 'number') details.code = String(code)
  if (typeof thrown.stack === 'string') details.stack = thrown.stack
  if (thrown.cause !== undefined && depth < maxDepth) details.cause = safely(() => detailsOf(thrown.cause, depth + 1))
  return details
}

/** What its own toJSON says, if that is an object that JSON can hold. */
function ownJson(thrown: unknown): Record<string, unknown> | undefined {
  return safely(() => {
    if (thrown === null || typeof thrown !== 'object') return undefined
    const { toJSON } = thrown as { toJSON?: unknown }
    if (typeof toJSON !== 'function') return undefined
    const value: unknown = toJSON.call(thrown)
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined
    return stringify(value, maxBytes) === undefined ? undefined : { ...value }
  })
}

function messageOf(thrown: unknown): string {
  return safely(() => (thrown instanceof Error ? String(thrown.message) : describe(thrown))) ?? 'an unreadable message'
}

/** A printable form of anything. */
function describe(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  const text = safely(() => {
    if (thrown === null || typeof thrown !== 'object') return String(thrown)
    const json = JSON.stringify(thrown)
    return json === undefined ? undefined : json
  })
  return text ?? safely(() => Object.prototype.toString.call(thrown)) ?? 'an unprintable value'
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
