// The one connection that all listeners of a storage share: opened for the first listener, closed after the last. After a loss it
// reconnects with backoff, listens again, and reports a gap, because messages may have been missed.

import type { Timer } from '../../../clock.ts'
import { type CallTimeout, queryWithTimeout } from './call-timeout.ts'
import type { Connector, RawConnection } from './connector.ts'
import type { Statement } from './database.ts'
import { connectionLost, notConnected } from './errors.ts'

interface Subscription {
  readonly channel: string
  readonly onMessage: (payload: string) => void
  readonly onGap: () => void
}

interface ListenerOptions extends CallTimeout {
  readonly listen: boolean
  readonly listenUrl?: string | undefined
}

/** Backoff between two attempts to reconnect, in ms: doubled each time, with jitter. */
const [minBackoffMs, maxBackoffMs] = [50, 5_000]
/** Interval of the check that the server still answers, in ms: a half-open connection looks like a quiet one. */
const pingMs = 5_000
const ping: Statement = { name: '', text: 'SELECT 1' }

export class Listener {
  readonly #connector: Connector
  readonly #options: ListenerOptions
  readonly #subscriptions = new Map<string, Set<Subscription>>()
  /** Channels that the current connection listens to. */
  #channels = new Set<string>()
  #connection: RawConnection | undefined
  /** The end of the queue of statements, which run one at a time. */
  #last: Promise<unknown> = Promise.resolve()
  #failures = 0
  #timer: Timer | undefined
  #isClosed = false

  constructor(connector: Connector, options: ListenerOptions) {
    this.#connector = connector
    this.#options = options
  }

  async listen(subscription: Subscription): Promise<() => Promise<void>> {
    if (!this.#options.listen) return async () => {}
    const all = this.#subscriptions.get(subscription.channel) ?? new Set()
    this.#subscriptions.set(subscription.channel, all.add(subscription))
    try {
      await this.#inTurn(() => this.#synchronize())
    } catch (error) {
      this.#remove(subscription)
      throw notConnected(this.#connector.where, error)
    }
    return async () => {
      this.#remove(subscription)
      // A failure needs no handling: a connection that is lost has lost its channels, too.
      await this.#inTurn(() => this.#synchronize()).catch(() => {})
    }
  }

  close(): void {
    this.#isClosed = true
    this.#subscriptions.clear()
    this.#disconnect()
  }

  #remove(subscription: Subscription): void {
    const all = this.#subscriptions.get(subscription.channel)
    all?.delete(subscription)
    if (all?.size === 0) this.#subscriptions.delete(subscription.channel)
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }

  /** Makes the connection listen to exactly the subscribed channels; without any, closes it. */
  async #synchronize(): Promise<void> {
    if (this.#subscriptions.size === 0) return this.#disconnect()
    if (this.#isClosed) throw new Error('the storage is closed')
    const connection = this.#connection ?? (await this.#connect())
    const surplus = [...this.#channels].filter((channel) => !this.#subscriptions.has(channel))
    const missing = [...this.#subscriptions.keys()].filter((channel) => !this.#channels.has(channel))
    const statements = [...surplus.map((channel) => `UNLISTEN ${quoted(channel)}`), ...missing.map(listenTo)]
    if (statements.length === 0) return
    try {
      await queryWithTimeout(connection, { name: '', text: statements.join('; ') }, [], this.#options, false)
    } catch (error) {
      connection.discard()
      throw error
    }
    this.#channels = new Set([...this.#channels, ...missing].filter((channel) => !surplus.includes(channel)))
  }

  async #connect(): Promise<RawConnection> {
    let connection: RawConnection | undefined
    connection = await this.#connector.open(this.#options.listenUrl, {
      onMessage: (channel, payload) => {
        for (const { onMessage } of this.#subscriptions.get(channel) ?? []) onMessage(payload)
      },
      // Also reported for a connection that was never established.
      onLost: () => connection && this.#onLost(connection),
    })
    // It may be lost, or the listener closed, before open() resolved.
    if (connection.isLost || this.#isClosed) {
      connection.discard()
      throw connectionLost()
    }
    this.#connection = connection
    this.#channels = new Set()
    this.#schedulePing()
    return connection
  }

  #onLost(connection: RawConnection): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
    this.#channels = new Set()
    this.#scheduleReconnect()
  }

  #scheduleReconnect(): void {
    this.#timer?.cancel()
    if (this.#isClosed || this.#subscriptions.size === 0) return
    const { clock } = this.#options
    const backoffMs = Math.min(minBackoffMs * 2 ** Math.min(this.#failures++, 10), maxBackoffMs)
    this.#timer = clock.after(backoffMs * (0.5 + clock.random() / 2), () => {
      this.#inTurn(() => this.#synchronize()).then(
        () => this.#reportGap(),
        () => this.#connection ?? this.#scheduleReconnect(),
      )
    })
  }

  #reportGap(): void {
    this.#failures = 0
    const all = [...this.#subscriptions.values()].flatMap((subscriptions) => [...subscriptions])
    for (const { onGap } of all) onGap()
  }

  #schedulePing(): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.after(pingMs, () => this.#ping(), { keepsAlive: false })
  }

  #ping(): void {
    const connection = this.#connection
    if (!connection) return
    this.#inTurn(async () => {
      if (!connection.isLost) await queryWithTimeout(connection, ping, [], this.#options, false)
    }).then(
      () => this.#connection === connection && this.#schedulePing(),
      () => connection.discard(),
    )
  }

  #disconnect(): void {
    this.#timer?.cancel()
    const connection = this.#connection
    this.#connection = undefined
    this.#channels = new Set()
    connection?.discard()
  }
}

const listenTo = (channel: string): string => `LISTEN ${quoted(channel)}`
const quoted = (channel: string): string => `"${channel.replaceAll('"', '""')}"`
