// A client that reconnects by itself: the user's own, or a Cluster, which manages the connections to its nodes. The link
// learns when it is connected, sets it up, and makes it reconnect when it hangs.

import { atMost, type Timer } from '../../../clock.ts'
import { discard, isCluster, type RedisClient, socketOf } from './client.ts'
import { notConnected } from './errors.ts'
import { ConnectionWaiters, type Link, type LinkOptions, reconnectPauseMs } from './link.ts'
import { ReplyMonitor } from './reply-monitor.ts'

/** How long a node of a cluster may take to answer a PING before it is dropped, in ms. */
const pingMs = 1_000
/** How long a client may be silent between connect and ready, in ms; and a Cluster connecting without asking any node for the slots. */
const stuckMs = 2_000

/** Both libraries have it and do not document it: whether a Cluster asks a node for the slots. */
const isRefreshing = (cluster: RedisClient): boolean => (cluster as { isRefreshing?: unknown }).isRefreshing !== false

export class BorrowedLink<Client extends RedisClient> implements Link<Client> {
  readonly replies: ReplyMonitor
  readonly #borrowed: Client
  readonly #options: LinkOptions<Client>
  /** stop() closes the client. */
  readonly #isOurs: boolean
  readonly #waiters: ConnectionWaiters<Client>
  readonly #first = Promise.withResolvers<void>()
  readonly #listeners: Readonly<Record<string, (error?: unknown) => void>>
  #isUp = false
  #wasUp = false
  #reason: unknown
  /** Counts the connections of the client, so that a set-up that ends late changes nothing. */
  #epoch = 0
  #tries = 0
  #pause: Timer | undefined
  #isStopped = false
  /** Bytes that a connection had read before it was ready, and since when. */
  #stuck: { readonly bytes: number | undefined; readonly at: number } | undefined

  constructor(client: Client, options: LinkOptions<Client>, isOurs: boolean) {
    this.#borrowed = client
    this.#options = options
    this.#isOurs = isOurs
    this.#waiters = new ConnectionWaiters(options.clock)
    this.#first.promise.catch(() => {})
    this.replies = new ReplyMonitor(
      options.clock,
      () => socketOf(client)?.bytesRead,
      () => this.drop(),
    )
    this.#listeners = {
      ready: () => void this.#ready(),
      error: (error) => this.#lost(error),
      close: () => this.#lost(new Error('the connection was closed')),
      end: () => this.#lost(new Error('the client was closed')),
    }
  }

  get client(): Client | undefined {
    return this.#isUp ? this.#borrowed : undefined
  }

  async start(): Promise<void> {
    const { status } = this.#borrowed
    for (const [event, listener] of Object.entries(this.#listeners)) this.#borrowed.on(event, listener)
    if (status === 'ready') void this.#ready()
    else if (status === 'end') this.#lost(new Error('the client was closed'))
    else if (status === 'wait') this.#borrowed.connect().catch((error: unknown) => this.#lost(error))
    await this.#first.promise
  }

  async connected(): Promise<Client> {
    const late = (): Error => {
      this.#dropIfStuck()
      return notConnected(this.#options.where, this.#reason)
    }
    if (this.#isStopped) throw late()
    return this.#isUp ? this.#borrowed : await this.#waiters.wait(late)
  }

  drop(): void {
    if (isCluster(this.#borrowed)) {
      for (const node of this.#borrowed.nodes('all')) void this.#dropIfSilent(node)
    } else if (this.#borrowed.status === 'ready' || this.#borrowed.status === 'connect') {
      this.#borrowed.disconnect(true)
      socketOf(this.#borrowed)?.destroy()
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#epoch++
    this.#isUp = false
    this.#reason = new Error('the storage is closed')
    this.#pause?.cancel()
    this.replies.stop()
    this.#first.reject(this.#reason)
    this.#waiters.reject(notConnected(this.#options.where, this.#reason))
    for (const [event, listener] of Object.entries(this.#listeners)) {
      // A client of ours may still emit an error, which would end the process if it had no listener.
      if (!this.#isOurs || event !== 'error') this.#borrowed.removeListener(event, listener)
    }
    if (this.#isOurs) discard(this.#borrowed)
  }

  async #ready(): Promise<void> {
    const epoch = ++this.#epoch
    try {
      await this.#options.setUp(this.#borrowed, this.replies, !this.#wasUp)
    } catch (error) {
      if (epoch === this.#epoch) this.#failed(error)
      return
    }
    if (epoch !== this.#epoch) return
    this.#isUp = true
    this.#tries = 0
    this.#waiters.resolve(this.#borrowed)
    if (this.#wasUp) this.#options.onUp()
    this.#wasUp = true
    this.#first.resolve()
  }

  /** The server does not meet the requirements, or could not be checked. */
  #failed(error: unknown): void {
    this.#reason = error
    this.#first.reject(error)
    if (!this.#wasUp) return
    this.#pause = this.#options.clock.after(reconnectPauseMs(this.#tries++, this.#options.clock), () => {
      if (isCluster(this.#borrowed)) void this.#ready()
      else this.drop()
    })
  }

  #lost(reason: unknown): void {
    if (this.#isStopped) return
    const { status } = this.#borrowed
    // A Cluster also emits errors after which it goes on.
    if (status === 'ready') return
    const wasUp = this.#isUp
    this.#epoch++
    this.#isUp = false
    this.#reason = reason
    this.#first.reject(reason)
    if (wasUp) this.#options.onDown?.()
  }

  /** Drops a connection that fell silent before the client was ready: the library has no timeout for that. */
  #dropIfStuck(): void {
    if (isCluster(this.#borrowed)) this.#reconnectIfStuck()
    else this.#dropIfSilentSoFar()
  }

  /**
   * A Cluster of iovalkey that begins to connect while it still asks the nodes of its lost connections for the slots asks no other node. If all
   * of those fail, it waits for ever.
   */
  #reconnectIfStuck(): void {
    const now = this.#options.clock.monotonic()
    const isWaiting = this.#borrowed.status === 'connecting' && !isRefreshing(this.#borrowed)
    if (!isWaiting) this.#stuck = undefined
    else if (!this.#stuck) this.#stuck = { bytes: undefined, at: now }
    else if (now - this.#stuck.at >= stuckMs) {
      this.#stuck = undefined
      this.#borrowed.disconnect(true)
    }
  }

  #dropIfSilentSoFar(): void {
    const now = this.#options.clock.monotonic()
    const bytes = socketOf(this.#borrowed)?.bytesRead
    const stuck = this.#borrowed.status === 'connect' && this.#stuck?.bytes === bytes ? this.#stuck : undefined
    if (!stuck) this.#stuck = { bytes, at: now }
    else if (now - stuck.at >= stuckMs) {
      this.#stuck = undefined
      this.drop()
    }
  }

  async #dropIfSilent(node: RedisClient): Promise<void> {
    const ping = node.callBuffer('ping', []).catch(() => {})
    if (await atMost(this.#options.clock, pingMs, ping)) return
    node.disconnect(true)
    socketOf(node)?.destroy()
  }
}
