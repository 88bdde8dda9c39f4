// What names a key in a DISCOVER message.

import { createHash } from 'node:crypto'

/** Lower-case hex SHA-256 of the decoded key. */
export function fingerprint(key: Uint8Array): string {
  return createHash('sha256').update(key).digest('hex')
}
