// Inputs and outputs as JSON, and nothing that JSON would lose: a value comes back as it went in, or is refused.

import { HoldfastError, printable, SerializationError } from '../errors.ts'
import { sharedOptions } from '../engine/options.ts'
import type { Bytes } from '../storage/storage.ts'

type What = 'payload' | 'result'

const limits = { payload: sharedOptions.maxBytes.default, result: sharedOptions.maxBytes.default } as const
const words = { payload: 'input', result: 'output' } as const

/** @throws SerializationError with the path, or TOO_LARGE */
export function encodeJson(what: What, typeName: string, value: unknown): Bytes {
  let bytes: Buffer
  try {
    check(what, typeName, value, '', new Set())
    bytes = Buffer.from(JSON.stringify(value))
  } catch (cause) {
    if (cause instanceof SerializationError) throw cause
    throw new SerializationError(what, `job type '${typeName}': the ${words[what]} cannot be serialised`, cause)
  }
  const limit = limits[what]
  const size = bytes.byteLength
  if (size <= limit) return bytes
  const message = `job type '${typeName}': the ${words[what]} has ${size} bytes, the limit is ${limit}`
  throw new HoldfastError('TOO_LARGE', message, { what, typeName, size, limit })
}

/** What is absent reads as null. @throws SerializationError */
export function decodeJson(what: What, bytes: Bytes | undefined): unknown {
  if (bytes === undefined) return null
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
  } catch (cause) {
    throw new SerializationError(what, `the ${words[what]} cannot be decoded`, cause)
  }
}

/** A property that is undefined is as good as absent; anything else that JSON leaves out or changes is not. */
function check(what: What, typeName: string, value: unknown, path: string, above: Set<object>): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) return
  const isObject = typeof value === 'object'
  const isLoop = isObject && above.has(value)
  if (!isObject || isLoop || !isPlain(value)) {
    const at = path === '' ? 'it' : path
    const why = isLoop ? 'refers to itself' : `is ${printable(value)}, which JSON cannot hold`
    const message = `job type '${typeName}': the ${words[what]} cannot be serialised: ${at} ${why}`
    throw new SerializationError(what, message, undefined, { path })
  }
  above.add(value)
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) check(what, typeName, value[index], `${path}[${index}]`, above)
  } else {
    for (const [key, item] of Object.entries(value)) {
      if (item !== undefined) check(what, typeName, item, path === '' ? key : `${path}.${key}`, above)
    }
  }
  above.delete(value)
}

function isPlain(value: object): boolean {
  if (Object.getOwnPropertySymbols(value).length > 0) return false
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
