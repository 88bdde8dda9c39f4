// What the fields of v1 messages hold.

import { isEnvelope } from './envelope.ts'
import { instantOf } from './instant.ts'
import { decodeBase64 } from './base64.ts'
import type { EncryptedEnvelope } from './messages.ts'
import { type Check, is, object } from './schema.ts'
import { signatureBytes } from './signature.ts'

const maxIdLength = 512
/** Two of them must fit into one entry of an index of Postgres. */
const maxIdBytes = 1024
const maxUrlLength = 2048

/** Text that every store can hold and give back: no NUL, no half of a surrogate pair (two ids would become one). */
function isStorable(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.length <= maxLength && value.isWellFormed() && !value.includes('\0')
}

export const id = is(
  `a text of 1 to ${maxIdLength} characters`,
  (value): value is string => isStorable(value, maxIdLength) && value !== '' && Buffer.byteLength(value) <= maxIdBytes,
)
export const url = is('a URL', (value): value is string => isStorable(value, maxUrlLength) && URL.canParse(value))
export const text = is('a text', (value): value is string => typeof value === 'string')
export const flag = is('a boolean', (value): value is boolean => typeof value === 'boolean')
export const count = is(
  'an integer from 0 on',
  (value): value is number => Number.isSafeInteger(value) && (value as number) >= 0,
)
export const instant = is('an ISO instant', (value): value is string => instantOf(value) !== undefined)
const anEnvelope = is('an envelope', isEnvelope)
const itsFields = object({ ephemeralPublicKey: text, iv: text, ciphertext: text, authTag: text })
export const envelope: Check<EncryptedEnvelope> = (value, path) => itsFields(anEnvelope(value, path), path)
export const signature = is(
  'a signature',
  (value): value is string => decodeBase64(value, signatureBytes) !== undefined,
)
