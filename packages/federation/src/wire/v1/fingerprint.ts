// The fingerprint of a key in a DISCOVER message.

import { createHash } from 'node:crypto'

/** Returns the lower-case hex SHA-256 of the raw key. */
export function fingerprint(key: Uint8Array): string {
  return createHash('sha256').update(key).digest('hex')
}
