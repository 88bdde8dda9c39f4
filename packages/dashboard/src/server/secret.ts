// The secret of the tokens of a process.

// oxlint-disable-next-line no-restricted-imports -- R7 is for randomness that a test may repeat. A token that can be guessed guards nothing.
import { randomBytes } from 'node:crypto'

export const newSecret = (): Uint8Array => randomBytes(32)
