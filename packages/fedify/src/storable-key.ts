// Keys that Fedify makes of its callers' values: one that a storage cannot hold is replaced by its hash, not refused.

import { createHash } from 'node:crypto'

const maxBytes = 512

export function storableKey(key: string): string {
  const fits = key !== '' && Buffer.byteLength(key) <= maxBytes && !key.includes('\0') && key.isWellFormed()
  // Of the code units, so that two keys which differ in a lone surrogate stay distinct.
  return fits ? key : `sha256:${createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('hex')}`
}
