// The part of an error that is stored with a job. Making it never throws, whatever was thrown.

import { inspect, types } from 'node:util'
import type { ErrorDetails } from './errors.ts'

const maxBytes = 65_536
const maxDepth = 5
/** Of an AggregateError. */
const maxErrors = 10

/** Returns a thrown value as an Error: itself, or an Error with it as the cause if it is none or its message cannot be read. */
export function asError(thrown: unknown): Error {
  if (isError(thrown) && safely(() => typeof thrown.message === 'string')) return thrown
  return new Error(messageOf(thrown), { cause: thrown })
}

export function errorDetails(thrown: unknown): ErrorDetails {
  return detailsOf(thrown, 0, ownJson)
}

/** As errorDetails, without calling toJSON: for use inside our own toJSON. */
export function plainDetails(thrown: unknown): ErrorDetails {
  return detailsOf(thrown, 0, () => undefined)
}

/** Encodes the details as JSON of at most `limit` bytes, 64 KiB by default. Long strings are cut until it fits. */
export function encodeError(thrown: unknown, limit = maxBytes): Uint8Array {
  const details = errorDetails(thrown)
  for (let longest = limit; longest >= 16; longest = longest >> 1) {
    const json = stringify(details, longest)
    if (json !== undefined && Buffer.byteLength(json) <= limit) return Buffer.from(json)
  }
  return Buffer.from(JSON.stringify({ message: details.message.slice(0, 1_000) }))
}

/** Decodes stored details. Bytes that are no details become a message. */
export function decodeError(bytes: Uint8Array | undefined): ErrorDetails {
  if (bytes === undefined) return { message: 'no error was recorded' }
  const text = Buffer.from(bytes).toString()
  try {
    const value = JSON.parse(text) as { message?: unknown } | null
    if (typeof value?.message === 'string') return value as ErrorDetails
  } catch {
    // Not JSON: the text is the message.
  }
  return { message: text.slice(0, 1_000) }
}

function detailsOf(thrown: unknown, depth: number, ownOf: typeof ownJson): ErrorDetails {
  const own = ownOf(thrown)
  if (own) return typeof own.message === 'string' ? (own as ErrorDetails) : { ...own, message: messageOf(thrown) }
  const message = messageOf(thrown)
  if (!isError(thrown)) return { message }
  // One at a time: a getter that throws must not cost the other fields.
  const read = (key: 'name' | 'code' | 'stack' | 'cause' | 'errors'): unknown =>
    safely(() => Reflect.get(thrown, key) as unknown)
  const [name, code, stack, cause] = [read('name'), read('code'), read('stack'), read('cause')]
  const details: ErrorDetails = typeof name === 'string' ? { name, message } : { message }
  if (typeof code === 'string' || typeof code === 'number') details.code = String(code)
  if (typeof stack === 'string') details.stack = stack
  if (depth >= maxDepth) return details
  if (cause !== undefined) details.cause = detailsOf(cause, depth + 1, ownOf)
  const errors = read('errors')
  // Of Promise.any(), and of a connection that was tried at several addresses.
  if (thrown instanceof AggregateError && Array.isArray(errors) && errors.length > 0)
    details.errors = errors.slice(0, maxErrors).map((one) => detailsOf(one, depth + 1, ownOf))
  return details
}

/** A copy of what toJSON returns, if that is an object that JSON can hold. */
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

/** Also for errors of other realms. */
function isError(thrown: unknown): thrown is Error {
  return types.isNativeError(thrown) || (safely(() => thrown instanceof Error) ?? false)
}

function messageOf(thrown: unknown): string {
  if (!isError(thrown)) return describe(thrown)
  const message = safely(() => String(thrown.message))
  return message ?? 'an error whose message cannot be read'
}

/** A printable form of any value, in one line, without the stacks of errors inside. */
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
