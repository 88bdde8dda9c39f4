// One keep-alive agent per peer, for the most recently used peers.
// Invariant: at most `max` agents exist, and none is destroyed while a request uses it.

import { Agent, type ClientRequestArgs } from 'node:http'
import type { Duplex } from 'node:stream'

/** Opens a connection for a request, whose options it receives. */
export type Open = (options: ClientRequestArgs, opened: (error: Error | null, socket?: Duplex) => void) => void

const idleMs = 30_000

/** Idle connections per peer. More are needed in a burst only. */
const idleConnections = 4

export class PeerAgents {
  readonly #open: Open
  readonly #max: number
  /** In order of use, the most recent last. */
  readonly #entries = new Map<string, AgentEntry>()

  constructor(open: Open, max = 1024) {
    this.#open = open
    this.#max = max
  }

  get size(): number {
    return this.#entries.size
  }

  /** Returns the agent of this peer. It is not destroyed before its `release()`. */
  acquire(origin: string): AgentEntry {
    const entry = this.#entries.get(origin) ?? new AgentEntry(this.#open)
    this.#entries.delete(origin)
    this.#entries.set(origin, entry)
    entry.uses++
    for (const [oldest, other] of this.#entries) {
      if (this.#entries.size <= this.#max) break
      this.#entries.delete(oldest)
      other.drop()
    }
    return entry
  }

  /** Destroys all agents, with the connections in use. */
  close(): void {
    for (const { agent } of this.#entries.values()) agent.destroy()
    this.#entries.clear()
  }
}

class AgentEntry {
  readonly agent: Agent
  uses = 0
  #dropped = false

  constructor(open: Open) {
    this.agent = new Agent({ keepAlive: true, timeout: idleMs, maxFreeSockets: idleConnections })
    // Returns nothing: the socket is passed to the callback after its address was checked.
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
