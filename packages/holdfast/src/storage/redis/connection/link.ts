// A link keeps one connection alive until it is stopped: own-link.ts for clients of ours, borrowed-link.ts for a client that
// reconnects by itself.

import type { Clock } from '../../../clock.ts'
import type { RedisClient } from './client.ts'
import type { ReplyMonitor } from './reply-monitor.ts'

export interface Link<Client extends RedisClient = RedisClient> {
  /** Rejects with the reason if the first connection fails. */
  start(): Promise<void>
  /** The client, while it is connected and set up. */
  readonly client: Client | undefined
  readonly replies: ReplyMonitor
  /** The client once it is connected. Rejects after a second without one. */
  connected(): Promise<Client>
  /** Gives up the current connection, and makes another. */
  drop(): void
  stop(): void
}

export interface LinkOptions<Client extends RedisClient = RedisClient> {
  /** The server's address, for messages. */
  readonly where: string
  readonly clock: Clock
  /**
   * Runs on each new connection before any call may use it: it checks the server, or subscribes.
   * @param isFirst the first connection of this link: start() rejects with what setUp throws
   */
  setUp(client: Client, replies: ReplyMonitor, isFirst: boolean): Promise<void>
  /** A connection of ours keeps the process alive while no reply is expected, too. @default false */
  readonly keepsAlive?: boolean
  /** Called when the connection is lost. */
  onDown?(): void
  /** Called when it is connected again, and set up. */
  onUp(): void
}

/** The shortest and the longest pause between two attempts to connect, in ms. */
const [shortestPauseMs, longestPauseMs] = [50, 1_000]

/** The pause before the next attempt to connect, in ms: doubled each time, with jitter. */
export const reconnectPauseMs = (tries: number, clock: Clock): number =>
  Math.min(shortestPauseMs * 2 ** Math.min(tries, 10), longestPauseMs) * (0.5 + clock.random() / 2)

/** How long a call waits for a connection, in ms. The guard repeats the call while its timeout allows. */
const connectedMs = 1_000

/** Calls that wait for a connection. */
export class ConnectionWaiters<Client> {
  readonly #clock: Clock
  #next = Promise.withResolvers<Client>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#next.promise.catch(() => {})
  }

  resolve(client: Client): void {
    this.#next.resolve(client)
    this.#next = Promise.withResolvers<Client>()
    this.#next.promise.catch(() => {})
  }

  reject(error: unknown): void {
    this.#next.reject(error)
  }

  /** @param late the error after connectedMs */
  async wait(late: () => Error): Promise<Client> {
    const { promise, reject } = Promise.withResolvers<never>()
    const timer = this.#clock.after(connectedMs, () => reject(late()))
    try {
      return await Promise.race([this.#next.promise, promise])
    } finally {
      timer.cancel()
    }
  }
}
