// Inputs and outputs as bytes, by the value codec of every face. `undefined` is refused here: a job type declares null instead.

import { sharedOptions } from '../../engine/options.ts'
import { decodeValue, encodeValue } from '../../engine/job/values.ts'
import { HoldfastError, SerializationError } from '../../errors.ts'
import type { Bytes } from '../../storage/storage.ts'

type What = 'payload' | 'result'

const words = { payload: 'input', result: 'output' } as const
/** In bytes, of an input and of an output. */
const limit = sharedOptions.maxBytes.default

/** @throws SerializationError with the path of what cannot be stored, or TOO_LARGE */
export const encodeInput = (typeName: string, input: unknown): Bytes => encode('payload', typeName, input)
/** @throws SerializationError with the path of what cannot be stored, or TOO_LARGE */
export const encodeOutput = (typeName: string, output: unknown): Bytes => encode('result', typeName, output)

/** What is absent reads as null. @throws SerializationError */
export const decodeInput = (typeName: string, bytes: Bytes | undefined): unknown => decode('payload', typeName, bytes)
/** What is absent reads as null, such as the output of a job that continued. @throws SerializationError */
export const decodeOutput = (typeName: string, bytes: Bytes | undefined): unknown => decode('result', typeName, bytes)

function encode(what: What, typeName: string, value: unknown): Bytes {
  const word = words[what]
  if (value === undefined) {
    const message = `job type '${typeName}': ${word}: undefined cannot be stored. Use null.`
    throw new SerializationError(what, message, undefined, { path: word })
  }
  const bytes = ofType(what, typeName, () => encodeValue(value, word, what))
  const size = bytes.byteLength
  if (size <= limit) return bytes
  const message = `job type '${typeName}': the ${word} has ${size} bytes, and the limit is ${limit}. Store large data elsewhere and pass a reference.`
  throw new HoldfastError('TOO_LARGE', message, { what, typeName, size, limit })
}

function decode(what: What, typeName: string, bytes: Bytes | undefined): unknown {
  return bytes === undefined ? null : ofType(what, typeName, () => decodeValue(bytes, what))
}

/** Names the job type in the codec's errors. */
function ofType<R>(what: What, typeName: string, call: () => R): R {
  try {
    return call()
  } catch (error) {
    const { message, cause, path } = error as SerializationError
    throw new SerializationError(what, `job type '${typeName}': ${message}`, cause, path === undefined ? {} : { path })
  }
}
