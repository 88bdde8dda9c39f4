// The one connection that receives messages for all listeners. It is opened with the first listener and closed with the last.
// After each reconnect it subscribes again, and then reports a gap: messages may have been missed.

import type { Clock } from '../../../clock.ts'
import type { NodeClient } from './client.ts'
import { redisError } from './errors.ts'
import type { OwnLink } from './own-link.ts'
import type { ReplyMonitor } from './reply-monitor.ts'

interface Listener {
  readonly channels: readonly string[]
  readonly onMessage: (channel: string, message: Buffer) => void
  readonly onGap: () => void
}

/** The part of a link's options that the subscriber sets. */
export interface SubscriberLink {
  setUp(client: NodeClient, replies: ReplyMonitor): Promise<void>
  onUp(): void
}

/**
 * How long the connection is trusted without a check, in ms. A check is made only when the storage calls the server anyway:
 * an idle worker should cost the server nothing, and its fallback poll is a call.
 */
const trustedMs = 5_000
/** Attempts to subscribe, each on another connection. */
const mostTries = 5

export class Subscriber {
  readonly #clock: Clock
  readonly #newLink: (link: SubscriberLink) => OwnLink
  readonly #listeners = new Map<string, Set<Listener>>()
  /** The channels of the current connection. */
  #subscribed = new Set<string>()
  #link: OwnLink | undefined
  #started: Promise<void> | undefined
  #checkedAt = 0

  constructor(clock: Clock, newLink: (link: SubscriberLink) => OwnLink) {
    this.#clock = clock
    this.#newLink = newLink
  }

  async listen(listener: Listener): Promise<() => Promise<void>> {
    if (listener.channels.length === 0) return async () => {}
    for (const channel of listener.channels) this.#listenersOf(channel).add(listener)
    try {
      await this.#subscribe(listener.channels)
    } catch (error) {
      this.#remove(listener)
      throw redisError(error)
    }
    return async () => {
      const unused = this.#remove(listener)
      const client = this.#link?.client
      if (!client || unused.length === 0) return
      for (const channel of unused) this.#subscribed.delete(channel)
      // An error means that the connection was lost, and its subscriptions with it.
      await this.#link!.replies.expect(client.unsubscribe(...unused)).catch(() => {})
    }
  }

  /** Sends a PING. Without a reply, the monitor drops the connection. */
  check(): void {
    const link = this.#link
    if (!link) return
    this.#checkedAt = this.#clock.monotonic()
    if (link.client) link.replies.expect(link.client.callBuffer('ping', [])).catch(() => {})
  }

  /** Checks a connection that has not been checked for trustedMs. */
  checkIfDue(): void {
    if (this.#link?.client && this.#clock.monotonic() - this.#checkedAt > trustedMs) this.check()
  }

  /** Reconnects, perhaps to another server. A connection that is being made is new enough. */
  renew(): void {
    if (this.#link?.client) this.#link.drop()
  }

  close(): void {
    this.#listeners.clear()
    this.#closeLink()
  }

  #closeLink(): void {
    this.#link?.stop()
    this.#link = undefined
    this.#started = undefined
  }

  #listenersOf(channel: string): Set<Listener> {
    const listeners = this.#listeners.get(channel) ?? new Set()
    this.#listeners.set(channel, listeners)
    return listeners
  }

  /** Returns the channels that have no listener now. */
  #remove(listener: Listener): string[] {
    const unused: string[] = []
    for (const channel of listener.channels) {
      const listeners = this.#listeners.get(channel)
      if (!listeners?.delete(listener) || listeners.size > 0) continue
      this.#listeners.delete(channel)
      unused.push(channel)
    }
    if (this.#listeners.size === 0) this.#closeLink()
    return unused
  }

  async #subscribe(channels: readonly string[]): Promise<void> {
    this.#link ??= this.#newLink({
      setUp: (client, replies) => this.#setUp(client, replies),
      onUp: () => this.#reportGap(),
    })
    const link = this.#link
    this.#started ??= this.#start(link)
    await this.#started
    for (let left = mostTries; ; left--) {
      const client = link.client ?? (await link.connected())
      const missing = channels.filter((channel) => !this.#subscribed.has(channel))
      if (missing.length === 0) return
      try {
        const subscribed = this.#subscribed
        await link.replies.expect(client.subscribe(...missing))
        for (const channel of missing) subscribed.add(channel)
      } catch (error) {
        // The set-up of the next connection subscribes to these channels.
        if (left <= 1 || link.client === client) throw error
      }
    }
  }

  async #start(link: OwnLink): Promise<void> {
    try {
      await link.start()
      this.#checkedAt = this.#clock.monotonic()
    } catch (error) {
      // All waiting calls of listen() fail with it. The next call tries again.
      if (this.#link === link) this.#closeLink()
      throw error
    }
  }

  async #setUp(client: NodeClient, replies: ReplyMonitor): Promise<void> {
    const subscribed = new Set(this.#listeners.keys())
    client.on('messageBuffer', (channel: Buffer, message: Buffer) => this.#deliver(channel.toString(), message))
    if (subscribed.size > 0) await replies.expect(client.subscribe(...subscribed))
    this.#subscribed = subscribed
  }

  #deliver(channel: string, message: Buffer): void {
    for (const { onMessage } of this.#listeners.get(channel) ?? []) onMessage(channel, message)
  }

  #reportGap(): void {
    const all = new Set([...this.#listeners.values()].flatMap((listeners) => [...listeners]))
    for (const { onGap } of all) onGap()
  }
}
