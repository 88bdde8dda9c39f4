// Strict base64: each byte string has exactly one accepted text, so a message cannot be re-encoded and still be accepted.

/** Returns the bytes; undefined for a wrong alphabet, missing padding, trailing bits, or another length than the given one. */
export function decodeBase64(text: unknown, length?: number): Uint8Array | undefined {
  if (typeof text !== 'string') return undefined
  // Buffer ignores unknown characters and missing padding. Encoding the result again detects both.
  const bytes = Buffer.from(text, 'base64')
  if (length !== undefined && bytes.length !== length) return undefined
  return bytes.toString('base64') === text ? bytes : undefined
}

export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
