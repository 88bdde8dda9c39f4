// Checks of the fields of v1 messages.

import { isEnvelope } from './envelope.ts'
import { instantOf } from './instant.ts'
import { decodeBase64 } from './base64.ts'
import type { EncryptedEnvelope } from './messages.ts'
import { type Check, is, object } from './schema.ts'
import { signatureBytes } from './signature.ts'

const maxIdLength = 512
/** Two ids must fit into one entry of a Postgres index. */
const maxIdBytes = 1024
const maxUrlLength = 2048

/** Text that every store returns unchanged: no NUL, no lone surrogate (stores would turn two ids into one). */
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
const envelopeShape = is('an envelope', isEnvelope)
const envelopeFields = object({ ephemeralPublicKey: text, iv: text, ciphertext: text, authTag: text })
export const envelope: Check<EncryptedEnvelope> = (value, path) => envelopeFields(envelopeShape(value, path), path)
export const signature = is(
  'a signature',
  (value): value is string => decodeBase64(value, signatureBytes) !== undefined,
)
