// Slots for peers that answer slowly. A peer may acknowledge everything just before the deadline, and 64 such peers with four deliveries
// each would hold every slot of a process.
// Invariant: contacts with peers that are known to be slow, or not healthy, hold at most half of the slots. A peer that was never reached
// counts once its contact is late: most are quick, and a burst to new peers has all slots. They may hold a quarter more.

/** A contact is late, and a peer slow by the average of its contacts, after this time in ms. */
const slowMs = 2_000
/** Share of the last contact in the average: after one of 15 s, three quick ones make a peer quick again. */
const weight = 0.25
/** Most peers whose average is kept. */
const maxPeers = 10_000

export interface SlotOfPeer {
  /** Gives the slot back. @param now by a clock that never goes back, in ms */
  end(now: number): void
}

interface Running {
  readonly startedAt: number
  readonly isSlow: boolean
}

export class SlowPeers {
  readonly #most: Readonly<Record<'slow' | 'new', number>>
  /** Average duration of contacts in ms, by origin, of peers that are not quick. */
  readonly #averages = new Map<string, number>()
  /** In the order of their start. */
  readonly #running = new Set<Running>()

  /** @param slots deliveries at a time, per process */
  constructor(slots: number) {
    this.#most = { slow: Math.max(1, Math.floor(slots / 2)), new: Math.max(1, Math.floor((slots * 3) / 4)) }
  }

  /** Undefined: the peer must wait. @param health `new`: it was never reached @param now by a clock that never goes back, in ms */
  take(origin: string, health: 'healthy' | 'new' | 'unwell', now: number): SlotOfPeer | undefined {
    const isSlow = health === 'unwell' || (this.#averages.get(origin) ?? 0) > slowMs
    const most = isSlow ? this.#most.slow : health === 'new' ? this.#most.new : Infinity
    if (most < Infinity && this.#held(now) >= most) return undefined
    const running = { startedAt: now, isSlow }
    this.#running.add(running)
    return {
      end: (at) => {
        if (this.#running.delete(running)) this.#note(origin, at - now)
      },
    }
  }

  /** Slots that slow peers and late contacts hold. */
  #held(now: number): number {
    let held = 0
    for (const { startedAt, isSlow } of this.#running) if (isSlow || now - startedAt > slowMs) held++
    return held
  }

  #note(origin: string, durationMs: number): void {
    const average = (1 - weight) * (this.#averages.get(origin) ?? 0) + weight * durationMs
    // The latest last.
    this.#averages.delete(origin)
    if (average * 2 < slowMs) return
    this.#averages.set(origin, average)
    if (this.#averages.size > maxPeers) this.#averages.delete(this.#averages.keys().next().value!)
  }
}
