// Rotations of keys that peers have begun: one per peer, for five minutes and three tries. They are in memory: a process that restarts, or
// another one, does not know them, and the peer begins anew.

import type { Clock } from 'holdfast'
import { secretBytes } from '../secret-bytes.ts'
import type { PeerKeys } from '../store/store.ts'

const lifeMs = 5 * 60_000
const maxTries = 3
const maxRotations = 1_000

export interface Rotation {
  /** Pinned keys when it began. */
  readonly from: PeerKeys
  readonly to: PeerKeys
  readonly challenges: Readonly<Record<'signingOld' | 'signingNew' | 'encryptionOld' | 'encryptionNew', string>>
}

interface Pending extends Rotation {
  readonly endsAt: number
  tries: number
}

export class Rotations {
  readonly #clock: Clock
  /** By origin, the oldest first. */
  readonly #pending = new Map<string, Pending>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns a new rotation, or the ms until the one that was begun ends. */
  begin(from: PeerKeys, to: PeerKeys): Rotation | number {
    const now = this.#clock.monotonic()
    const known = this.#pending.get(from.url)
    if (known && known.endsAt > now && known.tries < maxTries) return known.endsAt - now
    this.#pending.delete(from.url)
    const challenges = {
      signingOld: secretUuid(),
      signingNew: secretUuid(),
      encryptionOld: secretUuid(),
      encryptionNew: secretUuid(),
    }
    const pending = { from, to, challenges, endsAt: now + lifeMs, tries: 0 }
    this.#pending.set(from.url, pending)
    if (this.#pending.size > maxRotations) this.#pending.delete(this.#pending.keys().next().value!)
    return pending
  }

  /** Takes one try. Undefined if no rotation of this peer is pending. */
  tryOf(origin: string): Rotation | undefined {
    const pending = this.#pending.get(origin)
    if (!pending || pending.endsAt <= this.#clock.monotonic() || ++pending.tries > maxTries) return undefined
    return pending
  }

  end(origin: string): void {
    this.#pending.delete(origin)
  }
}

/** A UUID of version 4. Its bytes must be secret: the peer proves its key by decrypting them. */
function secretUuid(): string {
  const bytes = Buffer.from(secretBytes(16))
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
