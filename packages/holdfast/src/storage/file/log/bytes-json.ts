// Bytes in JSON: as text if they are valid UTF-8, so that people can read them, otherwise as base64.

import { isUtf8 } from 'node:buffer'
import type { Bytes } from '../../storage.ts'

export type BytesJson = string | { readonly base64: string }

export function bytesToJson(bytes: Bytes): BytesJson {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return isUtf8(buffer) ? buffer.toString() : { base64: buffer.toString('base64') }
}

export function bytesFromJson(json: BytesJson): Bytes {
  return typeof json === 'string' ? Buffer.from(json) : Buffer.from(json.base64, 'base64')
}
