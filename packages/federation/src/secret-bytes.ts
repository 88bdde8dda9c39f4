// Bytes that must be secret or never repeat: ivs and keys.

// oxlint-disable-next-line no-restricted-imports -- R7 is for chance that a test may want to repeat. Whoever can repeat this one can read what was sealed with it, so it never comes from the injected clock.
import { randomBytes } from 'node:crypto'

export function secretBytes(length: number): Uint8Array {
  return randomBytes(length)
}
