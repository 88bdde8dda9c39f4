// The value codec of every face. Invariant: a value comes back deeply equal, or is refused with its path.
//
// A plain JSON value is stored as plain JSON text, readable in SQL and with `cat`. A value that JSON would lose or change (Date, Map,
// Set, bigint, NaN, undefined, -0, bytes, URL) is stored in an envelope: the value as JSON, and the types by JSON pointer:
//
//   {"$holdfast":1,"types":{"/at":"Date"},"value":{"at":"2026-01-01T00:00:00.000Z"}}
//
// An object with a `toJSON` method is stored as what that method returns. Functions, symbols, cycles and class instances are refused.
// Nearly every payload is plain, and one pass over it finds that out. described-value.ts is the slow path.

// Imported, although it is a global: that one is behind a getter, and every job comes by here.
import { Buffer } from 'node:buffer'
import { SerializationError, type ValueKind } from '../../errors.ts'
import { describe, restore, ValueRefused } from './described-value.ts'
import type { Serde } from './serde.ts'

const envelopeStart = '{"$holdfast":1,'
/** A plain value that looks like an envelope is put into one, so that it comes back as itself. */
const markerStart = '{"$holdfast":'

/** Code of `$`. Nearly no text has it there: one comparison is enough for the others. */
const dollar = 0x24

export const isEnvelope = (text: string): boolean => text.charCodeAt(2) === dollar && text.startsWith(envelopeStart)

const hasMarker = (json: string): boolean => json.charCodeAt(2) === dollar && json.startsWith(markerStart)

/** @param types as JSON @param value as JSON */
export const envelopeText = (types: string, value: string): string =>
  `${envelopeStart}"types":${types},"value":${value}}`

/** Deeper values take the slow path, which detects cycles. */
const plainDepth = 64

/**
 * Encodes a value as bytes.
 * @param name the first part of the path in an error
 * @throws SerializationError with the path of what cannot be stored
 */
export function encodeValue(value: unknown, name = 'payload', what: ValueKind = 'payload'): Buffer {
  return Buffer.from(plainText(value) ?? describedText(value, name, what))
}

/** Encodes a value as text. @throws SerializationError */
export function valueText(value: unknown, name = 'payload', what: ValueKind = 'payload'): string {
  return plainText(value) ?? describedText(value, name, what)
}

function describedText(value: unknown, name: string, what: ValueKind): string {
  try {
    const { types, json } = describe(value)
    // No types: the value was not plain only because of a toJSON method.
    if (Object.keys(types).length === 0 && !hasMarker(json)) return json
    return envelopeText(JSON.stringify(types), json)
  } catch (error) {
    const refused =
      error instanceof ValueRefused ? error : new ValueRefused('', 'reading the value threw an error', error)
    const path = name + refused.path
    throw new SerializationError(what, `${path}: ${refused.reason}`, refused.cause ?? refused, { path })
  }
}

/** Undefined unless the value is plain. One that throws when it is read is left to describe(), which finds the path. */
function plainText(value: unknown): string | undefined {
  try {
    if (!isPlain(value, plainDepth)) return undefined
    const json = JSON.stringify(value)
    return hasMarker(json) ? undefined : json
  } catch {
    return undefined
  }
}

/** Decodes bytes of the codec. @throws SerializationError */
export function decodeValue(bytes: Uint8Array, what: ValueKind = 'payload'): unknown {
  const buffer = bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return parseValue(buffer.toString(), what)
}

/** Decodes text of the codec. @throws SerializationError */
export function parseValue(text: string, what: ValueKind = 'payload'): unknown {
  try {
    const json: unknown = JSON.parse(text)
    return isEnvelope(text) ? restore(json) : json
  } catch (cause) {
    throw new SerializationError(what, `the stored ${what} cannot be decoded: ${(cause as Error).message}`, cause)
  }
}

/** The default serde. The engine recognises it and calls the codec itself, so that errors name the path. */
export class ValueSerde<T> implements Serde<T> {
  serialize(value: T): Uint8Array {
    return encodeValue(value)
  }

  deserialize(bytes: Buffer): T {
    return decodeValue(bytes) as T
  }
}

/** Finite, and not -0. */
const isPlainNumber = (value: number): boolean => value - value === 0 && (value !== 0 || 1 / value > 0)

function isPlain(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return isPlainNumber(value)
    case 'object':
      return value === null || (depth > 0 && isPlainObject(value, depth))
    default:
      return false
  }
}

function isPlainObject(value: object, depth: number): boolean {
  if (Array.isArray(value)) {
    if (Object.getPrototypeOf(value) !== Array.prototype) return false
    for (let index = 0; index < value.length; index++) if (!isPlain(value[index], depth - 1)) return false
    // A named property beside the elements would be lost.
    return Object.keys(value).length === value.length
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key]
    // Most members are texts and numbers: without a call each, the pass takes two thirds of the time.
    if (typeof item === 'string') continue
    if (typeof item === 'number' ? !isPlainNumber(item) : !isPlain(item, depth - 1)) return false
  }
  // An enumerable toJSON, own or inherited, was found above: a function is not plain.
  return Object.getOwnPropertySymbols(value).length === 0
}
