// Keeps one connection of ours alive: when it is lost or falls silent, another is made, until stop(). What must be done on
// each new connection before others may use it (checking the server, subscribing) is its `setUp`.

import type { Clock, Timer } from '../../../clock.ts'
import { discard, type NodeClient, type RedisClient, socketOf } from './client.ts'
import { notConnected, replyCode } from './errors.ts'
import { Watch } from './watch.ts'

/** What a connection offers, whoever keeps it alive. */
export interface Link<Client extends RedisClient = RedisClient> {
  /** Rejects with the reason if the first try fails. */
  start(): Promise<void>
  /** Set up and connected now. */
  readonly client: Client | undefined
  readonly watch: Watch
  /** The client once it is connected. Rejects if that takes long. */
  connected(): Promise<Client>
  /** This connection is no good: another, please. */
  drop(): void
  stop(): void
}

export interface LinkOptions<Client extends RedisClient = RedisClient> {
  /** For messages: where it leads. */
  readonly where: string
  readonly clock: Clock
  /** @param isFirst of this link; what it throws then, start() rejects with */
  setUp(client: Client, watch: Watch, isFirst: boolean): Promise<void>
  /** Lost, after it was connected. */
  onDown?(): void
  /** Connected again, and set up. */
  onUp(): void
}

/** Between two tries to connect, in ms: doubled each time, and jittered. */
const [shortestPauseMs, longestPauseMs] = [50, 1_000]
/** How long a call waits for a connection, in ms. It is repeated as long as its own time allows. */
const connectedMs = 1_000

/** Lets calls wait for a connection. */
export class Gate<Client> {
  readonly #clock: Clock
  #waiting = Promise.withResolvers<Client>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#waiting.promise.catch(() => {})
  }

  open(client: Client): void {
    this.#waiting.resolve(client)
    this.#waiting = Promise.withResolvers<Client>()
    this.#waiting.promise.catch(() => {})
  }

  fail(error: unknown): void {
    this.#waiting.reject(error)
  }

  async opened(late: () => Error): Promise<Client> {
    const { promise, reject } = Promise.withResolvers<never>()
    const timer = this.#clock.after(connectedMs, () => reject(late()))
    try {
      return await Promise.race([this.#waiting.promise, promise])
    } finally {
      timer.cancel()
    }
  }
}

export const pauseOf = (tries: number, clock: Clock): number =>
  Math.min(shortestPauseMs * 2 ** Math.min(tries, 10), longestPauseMs) * (0.5 + clock.random() / 2)

export class OwnLink implements Link<NodeClient> {
  readonly watch: Watch
  readonly #options: LinkOptions<NodeClient>
  readonly #make: () => NodeClient
  readonly #gate: Gate<NodeClient>
  /** Being connected, or connected. */
  #current: { readonly client: NodeClient; lose(reason: unknown): void } | undefined
  #up: NodeClient | undefined
  #reason: unknown
  #tries = 0
  #pause: Timer | undefined
  #isStopped = false

  constructor(make: () => NodeClient, options: LinkOptions<NodeClient>) {
    this.#make = make
    this.#options = options
    this.#gate = new Gate(options.clock)
    this.watch = new Watch(
      options.clock,
      () => this.#current && socketOf(this.#current.client)?.bytesRead,
      () => this.#current?.lose(new Error('the server has not answered for 2 s')),
    )
  }

  get client(): NodeClient | undefined {
    return this.#up
  }

  async start(): Promise<void> {
    await this.#connect(true)
  }

  async connected(): Promise<NodeClient> {
    if (this.#isStopped) throw notConnected(this.#options.where, new Error('the storage is closed'))
    return this.#up ?? (await this.#gate.opened(() => notConnected(this.#options.where, this.#reason)))
  }

  drop(): void {
    this.#current?.lose(new Error('the connection was given up'))
  }

  stop(): void {
    this.#isStopped = true
    this.#pause?.cancel()
    this.#current?.lose(new Error('the storage is closed'))
    this.watch.stop()
    this.#gate.fail(notConnected(this.#options.where, new Error('the storage is closed')))
  }

  async #connect(isFirst: boolean): Promise<void> {
    const client = this.#make()
    const lost = Promise.withResolvers<never>()
    lost.promise.catch(() => {})
    let reason: unknown
    const lose = (why: unknown): void => {
      if (this.#current?.client !== client) return
      const wasUp = this.#up === client
      this.#current = undefined
      this.#up = undefined
      this.#reason = reason ?? why
      lost.reject(this.#reason)
      discard(client)
      if (!wasUp) return
      this.#again()
      if (!this.#isStopped) this.#options.onDown?.()
    }
    this.#current = { client, lose }
    client.on('error', (error: unknown) => {
      // The first is the cause, others its consequence.
      reason ??= error
      // The library would go on where a database could not be selected, in another one.
      if (replyCode(error) !== undefined) lose(error)
    })
    client.on('end', () => lose(new Error('the connection was closed')))
    try {
      await Promise.race([this.#setUp(client, isFirst), lost.promise])
    } catch (error) {
      lose(error)
      throw reason ?? error
    }
    if (this.#current?.client !== client) throw this.#reason
    this.#up = client
    this.#tries = 0
    this.#gate.open(client)
  }

  async #setUp(client: NodeClient, isFirst: boolean): Promise<void> {
    await this.watch.during(client.connect())
    await this.#options.setUp(client, this.watch, isFirst)
  }

  #again(): void {
    if (this.#isStopped) return
    this.#pause = this.#options.clock.after(pauseOf(this.#tries++, this.#options.clock), () => {
      this.#connect(false).then(
        () => this.#options.onUp(),
        () => this.#again(),
      )
    })
  }
}
