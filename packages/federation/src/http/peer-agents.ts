// One agent per peer, which keeps its connections, for the peers asked last.
// Invariant: no more than `max` are held, and none is destroyed while a request uses it.

import { Agent, type ClientRequestArgs } from 'node:http'
import type { Duplex } from 'node:stream'

/** Opens a connection for a request; the request's own options come with it. */
export type Open = (options: ClientRequestArgs, opened: (error: Error | null, socket?: Duplex) => void) => void

const idleMs = 30_000

/** For each peer: more than a few are only needed in a burst. */
const idleConnections = 4

export class PeerAgents {
  readonly #open: Open
  readonly #max: number
  /** The one used last comes last. */
  readonly #held = new Map<string, Held>()

  constructor(open: Open, max = 1024) {
    this.#open = open
    this.#max = max
  }

  get size(): number {
    return this.#held.size
  }

  /** The agent of this peer, held until `release`. */
  hold(origin: string): Held {
    const held = this.#held.get(origin) ?? new Held(this.#open)
    this.#held.delete(origin)
    this.#held.set(origin, held)
    held.uses++
    for (const [oldest, other] of this.#held) {
      if (this.#held.size <= this.#max) break
      this.#held.delete(oldest)
      other.drop()
    }
    return held
  }

  /** Connections in use end too. */
  close(): void {
    for (const held of this.#held.values()) held.agent.destroy()
    this.#held.clear()
  }
}

class Held {
  readonly agent: Agent
  uses = 0
  #dropped = false

  constructor(open: Open) {
    this.agent = new Agent({ keepAlive: true, timeout: idleMs, maxFreeSockets: idleConnections })
    // Without an answer of its own: the socket comes by the callback, once it is known whose it is.
    this.agent.createConnection = (options, opened) => {
      open(options, (error, socket) => opened?.(error, socket as Duplex))
      return undefined
    }
  }

  release(): void {
    this.uses--
    if (this.#dropped && this.uses === 0) this.agent.destroy()
  }

  drop(): void {
    this.#dropped = true
    if (this.uses === 0) this.agent.destroy()
  }
}
