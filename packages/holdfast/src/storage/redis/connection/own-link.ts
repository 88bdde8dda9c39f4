// Keeps one connection of ours alive: when it is lost or falls silent, another client is made, until stop().

import type { Timer } from '../../../clock.ts'
import { discard, type NodeClient, socketOf } from './client.ts'
import { notConnected, replyCode } from './errors.ts'
import { ConnectionWaiters, type Link, type LinkOptions, reconnectPauseMs } from './link.ts'
import { ReplyMonitor } from './reply-monitor.ts'

export class OwnLink implements Link<NodeClient> {
  readonly replies: ReplyMonitor
  readonly #options: LinkOptions<NodeClient>
  readonly #make: () => NodeClient
  readonly #waiters: ConnectionWaiters<NodeClient>
  /** The client that is connecting, or connected. */
  #current: { readonly client: NodeClient; lose(reason: unknown): void } | undefined
  /** The client that is connected and set up. */
  #up: NodeClient | undefined
  #reason: unknown
  #tries = 0
  #pause: Timer | undefined
  #isStopped = false

  constructor(make: () => NodeClient, options: LinkOptions<NodeClient>) {
    this.#make = make
    this.#options = options
    this.#waiters = new ConnectionWaiters(options.clock)
    this.replies = new ReplyMonitor(
      options.clock,
      () => this.#current && socketOf(this.#current.client)?.bytesRead,
      () => this.#current?.lose(new Error('the server has not answered for 2 s')),
    )
    this.replies.onBusy = () => this.#keepAlive()
  }

  get client(): NodeClient | undefined {
    return this.#up
  }

  async start(): Promise<void> {
    await this.#connect(true)
  }

  async connected(): Promise<NodeClient> {
    if (this.#isStopped) throw notConnected(this.#options.where, new Error('the storage is closed'))
    return this.#up ?? (await this.#waiters.wait(() => notConnected(this.#options.where, this.#reason)))
  }

  drop(): void {
    this.#current?.lose(new Error('the connection was given up'))
  }

  stop(): void {
    this.#isStopped = true
    this.#pause?.cancel()
    this.#current?.lose(new Error('the storage is closed'))
    this.replies.stop()
    this.#waiters.reject(notConnected(this.#options.where, new Error('the storage is closed')))
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
      this.#reconnect()
      if (!this.#isStopped) this.#options.onDown?.()
    }
    this.#current = { client, lose }
    client.on('error', (error: unknown) => {
      // The first error is the cause, later ones follow from it.
      reason ??= error
      // If a database cannot be selected, the library would go on in another one.
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
    this.#keepAlive()
    this.#waiters.resolve(client)
  }

  async #setUp(client: NodeClient, isFirst: boolean): Promise<void> {
    await this.replies.expect(client.connect())
    await this.#options.setUp(client, this.replies, isFirst)
  }

  /** A process that has nothing left to do ends, although its storage is open. While it connects, the client keeps it alive. */
  #keepAlive(): void {
    if (!this.#up || this.#options.keepsAlive) return
    if (this.replies.isBusy) socketOf(this.#up)?.ref()
    else socketOf(this.#up)?.unref()
  }

  #reconnect(): void {
    if (this.#isStopped) return
    this.#pause = this.#options.clock.after(reconnectPauseMs(this.#tries++, this.#options.clock), () => {
      this.#connect(false).then(
        () => this.#options.onUp(),
        () => this.#reconnect(),
      )
    })
  }
}
