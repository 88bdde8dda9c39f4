// Tells an outage of this server's own network from outages of peers: if more than half of at least 20 peers that were contacted within a
// minute did not answer, the fault is most likely here.

const windowMs = 60_000
const fewest = 20
const maxPeers = 10_000

interface Contact {
  readonly at: number
  readonly isFailed: boolean
}

export class OwnOutage {
  /** The last contact of each peer, the latest last. */
  readonly #contacts = new Map<string, Contact>()
  #failed = 0

  /** Records a contact. @param now by a clock that never goes back, in ms */
  note(origin: string, isFailed: boolean, now: number): void {
    this.#remove(origin)
    this.#contacts.set(origin, { at: now, isFailed })
    if (isFailed) this.#failed++
    for (const [oldest, { at }] of this.#contacts) {
      if (at > now - windowMs && this.#contacts.size <= maxPeers) break
      this.#remove(oldest)
    }
  }

  /** Whether most of the peers that were contacted in the last minute failed. */
  get isLikely(): boolean {
    return this.#contacts.size >= fewest && this.#failed > this.#contacts.size / 2
  }

  #remove(origin: string): void {
    if (this.#contacts.get(origin)?.isFailed) this.#failed--
    this.#contacts.delete(origin)
  }
}
