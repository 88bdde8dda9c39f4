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
/** So long after a delivery that waited, the peer still counts as draining: a busy process may be slower than the pace. */
const drainingMs = 1_000
/** Most drains that share the pace of one. */
const sharing = 6
/** How long a drain makes room after a delivery to another peer. */
const othersMs = 10_000
/** Most peers that are kept, beside those whose deliveries wait here. */
const maxPeers = 10_000

interface Peer {
  /** The instant at which its deliveries so far would have begun at the pace of a drain, the first ones included. */
  pacedUntil: number
  /** Its deliveries that wait here, the oldest first. */
  readonly waiting: (() => void)[]
  /** When one of them waited last. */
  waitedAt: number
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
    const isDraining = now - peer.waitedAt < drainingMs
    const pacedUntil = Math.max(peer.pacedUntil, isDraining ? latest - distanceMs : now) + distanceMs
    if (pacedUntil <= latest && peer.waiting.length === 0) {
      if (!isDraining) this.#noteOther(origin, now)
      peer.pacedUntil = pacedUntil
    } else if (this.#hasOthers(origin, now)) {
      return this.#wait(origin, peer, pacedUntil - latest)
    } else {
      // At full speed it makes room as soon as there are others.
      peer.pacedUntil = Math.min(pacedUntil, latest)
    }
  }

  #noteOther(origin: string, at: number): void {
    this.#others = [{ origin, at }, ...this.#others.filter((other) => other.origin !== origin)].slice(0, 2)
  }

  #hasOthers(origin: string, now: number): boolean {
    return this.#others.some((other) => other.origin !== origin && now - other.at < othersMs)
  }

  #wait(origin: string, peer: Peer, ms: number): Promise<void> {
    return new Promise<void>((resolve) => {
      if (peer.waiting.push(resolve) > 1) return
      this.#draining++
      this.#clock.after(ms, () => this.#next(origin, peer))
    })
  }

  /** Begins one, or all of them if the other peers have nothing any more. */
  #next(origin: string, peer: Peer): void {
    const now = this.#clock.monotonic()
    const latest = now + burst * distanceMs
    const begin = peer.waiting.splice(0, this.#hasOthers(origin, now) ? 1 : peer.waiting.length)
    const pace = distanceMs * Math.min(this.#draining, sharing)
    // A busy event loop is late. What was missed is made up for, at half of the distance: all at once would be what others wait for.
    peer.pacedUntil = Math.max(peer.pacedUntil + pace, latest - pace / 2)
    peer.waitedAt = now
    if (peer.waiting.length === 0) this.#draining--
    else this.#clock.after(Math.max(pace / 2, peer.pacedUntil + distanceMs - latest), () => this.#next(origin, peer))
    for (const resolve of begin) resolve()
  }

  #peerOf(origin: string, now: number): Peer {
    const known = this.#peers.get(origin)
    if (known) return known
    if (this.#peers.size >= maxPeers) this.#forget(now)
    const peer: Peer = { pacedUntil: now, waiting: [], waitedAt: -Infinity }
    this.#peers.set(origin, peer)
    return peer
  }

  /** Those that had nothing lately, or else all that do not wait here. */
  #forget(now: number): void {
    for (const [origin, { pacedUntil, waiting }] of this.#peers) {
      if (waiting.length === 0 && pacedUntil <= now) this.#peers.delete(origin)
    }
    if (this.#peers.size < maxPeers) return
    for (const [origin, { waiting }] of this.#peers) if (waiting.length === 0) this.#peers.delete(origin)
  }
}
