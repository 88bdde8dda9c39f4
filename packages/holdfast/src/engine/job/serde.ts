// Values to bytes and back, by the value codec or a serde of the user's. `undefined` is stored as absence, and no serde is called
// for it; zero bytes are a value.

import { HoldfastError, invalidArgument, SerializationError } from '../../errors.ts'
import { asError } from '../../error-details.ts'
import type { Bytes } from '../../storage/storage.ts'
import { decodeValue, encodeValue, ValueSerde } from './values.ts'

/** Both synchronous. Sees the payload or the result, and nothing else. */
export interface Serde<T> {
  serialize(value: T): Uint8Array
  deserialize(bytes: Buffer): T
}

/** The lenient way: what JSON.stringify makes of a value. It drops undefined and functions, and turns a Date into text. */
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

export function createJsonSerde<T>(): Serde<T> {
  return new JsonSerde<T>()
}

type What = 'payload' | 'result'

/** @throws SerializationError, or TOO_LARGE */
export function encode<T>(what: What, serde: Serde<T>, value: T, maxBytes: number): Bytes | undefined {
  if (value === undefined) return undefined
  const bytes = serde instanceof ValueSerde ? encodeValue(value, what, what) : foreignBytes(what, serde, value)
  if (bytes.byteLength > maxBytes) {
    const size = bytes.byteLength
    throw new HoldfastError(
      'TOO_LARGE',
      `${what}: it has ${size} bytes, and the limit is ${maxBytes}. Store large data elsewhere and pass a reference.`,
      {
        what,
        size,
        limit: maxBytes,
      },
    )
  }
  return bytes
}

function foreignBytes<T>(what: What, serde: Serde<T>, value: T): Uint8Array {
  try {
    const bytes = serde.serialize(value)
    if (!(bytes instanceof Uint8Array)) throw invalidArgument('serialize()', 'a Uint8Array', bytes)
    // A foreign serde may use its buffer again; ours never does.
    return serde instanceof JsonSerde ? bytes : Uint8Array.from(bytes)
  } catch (cause) {
    throw new SerializationError(what, `${what}: it cannot be serialised: ${asError(cause).message}`, cause)
  }
}

/** @throws SerializationError */
export function decode<T>(what: What, serde: Serde<T>, bytes: Bytes | undefined): T {
  if (bytes === undefined) return undefined as T
  if (serde instanceof ValueSerde) return decodeValue(bytes, what) as T
  try {
    // A foreign serde may keep or change what it is given; the storage's bytes are for reading only.
    return serde.deserialize(serde instanceof JsonSerde ? asBuffer(bytes) : Buffer.from(bytes))
  } catch (cause) {
    throw new SerializationError(what, `the stored ${what} cannot be decoded: ${asError(cause).message}`, cause)
  }
}

/** The same bytes, not a copy. */
function asBuffer(bytes: Bytes): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
