// Random bytes that must be secret, or must never repeat: IVs and keys.

// oxlint-disable-next-line no-restricted-imports -- R7 is for randomness that a test may repeat. A repeatable IV or key breaks the encryption, so these bytes never come from the injected clock.
import { randomBytes } from 'node:crypto'

export function secretBytes(length: number): Uint8Array {
  return randomBytes(length)
}
