// Turns values into bytes and back, by the value codec or a custom serde. `undefined` is stored as absence, and no serde is called
// for it. Zero bytes are a value.

import { HoldfastError, invalidArgument, SerializationError, type ValueKind } from '../../errors.ts'
import { asError } from '../../error-details.ts'
import type { Bytes } from '../../storage/storage.ts'
import { decodeValue, encodeValue, ValueSerde } from './values.ts'

/** Turns payloads or results into bytes and back, synchronously. Sees the value alone, never the rest of the job. */
export interface Serde<T> {
  /** Turns a value into bytes. Synchronous. @throws anything, if the value cannot be stored */
  serialize(value: T): Uint8Array
  /** Turns the bytes back into the value. @throws anything, if it cannot */
  deserialize(bytes: Buffer): T
}

/** Stores what JSON.stringify makes of a value: it drops undefined and functions, and turns a Date into text. Nothing is refused for that. */
export class JsonSerde<T> implements Serde<T> {
  serialize(value: T): Uint8Array {
    const json = JSON.stringify(value)
    if (json === undefined) throw new TypeError(`JSON cannot hold a ${typeof value}`)
    return Buffer.from(json)
  }

  deserialize(bytes: Buffer): T {
    return JSON.parse(bytes.toString()) as T
  }
}

/** Makes a JsonSerde, the lenient alternative to the default codec. */
export function createJsonSerde<T>(): Serde<T> {
  return new JsonSerde<T>()
}

/** Encodes a value. @throws SerializationError, or TOO_LARGE */
export function encode<T>(what: ValueKind, serde: Serde<T>, value: T, maxBytes: number): Bytes | undefined {
  if (value === undefined) return undefined
  const bytes = serde instanceof ValueSerde ? encodeValue(value, what, what) : customBytes(what, serde, value)
  if (bytes.byteLength > maxBytes) {
    const size = bytes.byteLength
    throw new HoldfastError(
      'TOO_LARGE',
      `${what}: it has ${size} bytes, and the limit is ${maxBytes}. It was not stored. Keep large data elsewhere and pass a reference, or raise the limit.`,
      {
        what,
        size,
        limit: maxBytes,
      },
    )
  }
  return bytes
}

function customBytes<T>(what: ValueKind, serde: Serde<T>, value: T): Uint8Array {
  try {
    const bytes = serde.serialize(value)
    if (!(bytes instanceof Uint8Array)) throw invalidArgument('serialize()', 'a Uint8Array', bytes)
    // A custom serde may reuse its buffer, so its bytes are copied.
    return serde instanceof JsonSerde ? bytes : Uint8Array.from(bytes)
  } catch (cause) {
    throw new SerializationError(what, `${what}: its serde cannot serialise it: ${asError(cause).message}`, cause)
  }
}

/** Decodes stored bytes. @throws SerializationError */
export function decode<T>(what: ValueKind, serde: Serde<T>, bytes: Bytes | undefined): T {
  if (bytes === undefined) return undefined as T
  if (serde instanceof ValueSerde) return decodeValue(bytes, what) as T
  try {
    // A custom serde may keep or change the bytes, and the storage's are read-only, so it gets a copy.
    return serde.deserialize(serde instanceof JsonSerde ? asBuffer(bytes) : Buffer.from(bytes))
  } catch (cause) {
    throw new SerializationError(what, `the stored ${what} cannot be decoded: ${asError(cause).message}`, cause)
  }
}

/** A view of the same bytes, not a copy. */
function asBuffer(bytes: Bytes): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
