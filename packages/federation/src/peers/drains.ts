// Drains: a peer that comes back after an outage has thousands of deliveries. At full speed they take all of the CPU that is left, and each of
// the ten or so steps of another peer's delivery waits for theirs. So while other peers have deliveries, those of a drain begin at even
// distances, which leaves more than half of a CPU.
// Invariant: a drain never stops. One goes on with 333 deliveries per second and process, and of many at once each with 55.
//
// Not a limit of the engine. A rate of the group would also hold while no other peer has anything, and starts the share of an interval at once.
// Fewer slots while a peer drains would be a limit of one at a time, and that many round trips: over the internet it is ten per second.

import type { Clock } from 'holdfast'

/** Deliveries that begin at once before their peer counts as draining. */
const burst = 8
/** Distance between two deliveries of a drain. Each costs about 1.1 ms of CPU. */
const distanceMs = 3
/** Most drains that share the pace of one. */
const sharing = 6
/** How long a drain makes room after a delivery to another peer. */
const othersMs = 10_000
/** Most peers that are kept, beside those whose deliveries wait here. */
const maxPeers = 10_000

interface Peer {
  /** The instant at which its deliveries so far would have begun at the pace of a drain. */
  pacedUntil: number
  /** Its deliveries that wait here. */
  waiting: number
}

interface Other {
  readonly origin: string
  readonly at: number
}

export class Drains {
  readonly #clock: Clock
  readonly #peers = new Map<string, Peer>()
  /** Peers with deliveries that wait here. */
  #draining = 0
  /** The last two peers that had a delivery and did not drain. */
  #others: readonly Other[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Peers that are kept. */
  get size(): number {
    return this.#peers.size
  }

  /** Resolves when a delivery to this peer may begin. */
  async take(origin: string): Promise<void> {
    const now = this.#clock.monotonic()
    const peer = this.#peerOf(origin, now)
    const latest = now + burst * distanceMs
    const pace = distanceMs * Math.min(Math.max(this.#draining, 1), sharing)
    const pacedUntil = Math.max(peer.pacedUntil, now) + pace
    const waitMs = pacedUntil - latest
    if (waitMs <= 0)
      this.#others = [{ origin, at: now }, ...this.#others.filter((one) => one.origin !== origin)].slice(0, 2)
    else if (this.#others.some((one) => one.origin !== origin && now - one.at < othersMs)) {
      peer.pacedUntil = pacedUntil
      return this.#wait(peer, waitMs)
    }
    // Without others it keeps no more than its place at the head: it waits as soon as there are some.
    peer.pacedUntil = Math.min(pacedUntil, latest)
  }

  async #wait(peer: Peer, ms: number): Promise<void> {
    if (peer.waiting++ === 0) this.#draining++
    await new Promise<void>((resolve) => void this.#clock.after(ms, resolve))
    if (--peer.waiting === 0) this.#draining--
  }

  #peerOf(origin: string, now: number): Peer {
    const known = this.#peers.get(origin)
    if (known) return known
    if (this.#peers.size >= maxPeers) this.#forget(now)
    const peer: Peer = { pacedUntil: now, waiting: 0 }
    this.#peers.set(origin, peer)
    return peer
  }

  /** Those that had nothing lately, or else all that do not wait here. */
  #forget(now: number): void {
    for (const [origin, { pacedUntil, waiting }] of this.#peers) {
      if (waiting === 0 && pacedUntil <= now) this.#peers.delete(origin)
    }
    if (this.#peers.size < maxPeers) return
    for (const [origin, { waiting }] of this.#peers) if (waiting === 0) this.#peers.delete(origin)
  }
}
