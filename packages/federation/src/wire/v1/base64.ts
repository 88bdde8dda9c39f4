// Strict base64: what decodes here has exactly one text, so nothing can be sent in a second disguise.

/** Undefined: wrong alphabet, missing padding, trailing bits, or not the length that was asked for. */
export function decodeBase64(text: unknown, length?: number): Uint8Array | undefined {
  if (typeof text !== 'string') return undefined
  // Buffer skips what it does not know and adds what is missing: encoding again shows it.
  const bytes = Buffer.from(text, 'base64')
  if (length !== undefined && bytes.length !== length) return undefined
  return bytes.toString('base64') === text ? bytes : undefined
}

export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
