// Values as text, for people. Invariant: the text has at most 256 KiB, and no value makes this throw.

import type { Undecodable } from 'holdfast'
import { largestValue, type ShownValue } from '../shared/api.ts'

export function shownValue(value: unknown): ShownValue {
  try {
    return cut(JSON.stringify(value, jsonPart, 2) ?? 'undefined')
  } catch (error) {
    // A value that is nested too deeply.
    return { text: '', note: `The value cannot be shown: ${(error as Error).message}` }
  }
}

/** Bytes that another serde wrote: as text if they are one, else as base64. */
export function shownBytes({ bytes, reason }: Undecodable): ShownValue {
  const text = Buffer.from(bytes.subarray(0, largestValue)).toString()
  const isText = !text.includes('\uFFFD') || bytes.length > largestValue
  const note = `Not written by Holdfast's codec, so the ${isText ? 'text' : 'bytes in base64'} are shown. ${reason}`
  const shown = cut(isText ? text : Buffer.from(bytes.subarray(0, (largestValue / 4) * 3)).toString('base64'))
  return { ...shown, ...(bytes.length > largestValue && { cutFrom: bytes.length }), note }
}

/** Values that JSON has no word for. */
function jsonPart(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof Map) return { Map: [...value] }
  if (value instanceof Set) return { Set: [...value] }
  if (value instanceof Uint8Array) return { base64: Buffer.from(value.subarray(0, largestValue)).toString('base64') }
  if (value instanceof RegExp || value instanceof URL) return String(value)
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack }
  return value
}

function cut(text: string): ShownValue {
  // A code unit is at most three bytes, so most texts need no counting.
  if (text.length * 3 <= largestValue) return { text }
  const bytes = Buffer.byteLength(text)
  if (bytes <= largestValue) return { text }
  let shown = Buffer.from(text).subarray(0, largestValue).toString()
  if (shown.endsWith('\uFFFD')) shown = shown.slice(0, -1)
  return { text: shown, cutFrom: bytes }
}
