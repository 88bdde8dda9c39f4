// The one connection on which everything that listens is told, made when the first listens and closed with the last. After
// each reconnect it subscribes again, and then says that something may have been missed.

import type { Clock } from '../../../clock.ts'
import { addressOf, type NodeClient } from './client.ts'
import { redisError } from './errors.ts'
import type { OwnLink } from './link.ts'
import type { Watch } from './watch.ts'

interface Listener {
  readonly channels: readonly string[]
  readonly onMessage: (channel: string, message: Buffer) => void
  readonly onGap: () => void
}

/** The part of a link that the subscriber decides. */
export interface SubscriberLink {
  setUp(client: NodeClient, watch: Watch): Promise<void>
  onUp(): void
}

/**
 * How long a connection that only listens is trusted, in ms. Whoever calls the server has it asked then whether it is still
 * there. Nobody else does: an idle worker should cost the server nothing, and its poll is a call.
 */
const trustedMs = 5_000
/** Tries to subscribe on connections that get lost meanwhile. */
const mostTries = 5

export class Subscriber {
  readonly #clock: Clock
  readonly #newLink: (link: SubscriberLink) => OwnLink
  readonly #listeners = new Map<string, Set<Listener>>()
  /** On the connection at hand. */
  #subscribed = new Set<string>()
  #link: OwnLink | undefined
  #started: Promise<void> | undefined
  #askedAt = 0

  constructor(clock: Clock, newLink: (link: SubscriberLink) => OwnLink) {
    this.#clock = clock
    this.#newLink = newLink
  }

  async listen(listener: Listener): Promise<() => Promise<void>> {
    if (listener.channels.length === 0) return async () => {}
    for (const channel of listener.channels) this.#heardBy(channel).add(listener)
    try {
      await this.#subscribe(listener.channels)
    } catch (error) {
      this.#forget(listener)
      throw redisError(error)
    }
    return async () => {
      const unheard = this.#forget(listener)
      const client = this.#link?.client
      if (!client || unheard.length === 0) return
      for (const channel of unheard) this.#subscribed.delete(channel)
      // A lost connection has lost its subscriptions, too.
      await this.#link!.watch.during(client.unsubscribe(...unheard)).catch(() => {})
    }
  }

  /** Of the server that is listened to. */
  get address(): string | undefined {
    const client = this.#link?.client
    return client && addressOf(client)
  }

  /** The command connection was lost: is this one still there? */
  check(): void {
    const link = this.#link
    if (!link) return
    this.#askedAt = this.#clock.monotonic()
    // No answer: the watch drops the connection.
    if (link.client) link.watch.during(link.client.callBuffer('ping', [])).catch(() => {})
  }

  /** Somebody calls the server: now and then that is a time to ask. */
  checkSometimes(): void {
    if (this.#link?.client && this.#clock.monotonic() - this.#askedAt > trustedMs) this.check()
  }

  /** The server is no longer the one to listen to. One that is being connected to is new enough. */
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

  #heardBy(channel: string): Set<Listener> {
    const listeners = this.#listeners.get(channel) ?? new Set()
    this.#listeners.set(channel, listeners)
    return listeners
  }

  /** The channels that nobody hears now. */
  #forget(listener: Listener): string[] {
    const unheard: string[] = []
    for (const channel of listener.channels) {
      const listeners = this.#listeners.get(channel)
      if (!listeners?.delete(listener) || listeners.size > 0) continue
      this.#listeners.delete(channel)
      unheard.push(channel)
    }
    if (this.#listeners.size === 0) this.#closeLink()
    return unheard
  }

  async #subscribe(channels: readonly string[]): Promise<void> {
    this.#link ??= this.#newLink({
      setUp: (client, watch) => this.#setUp(client, watch),
      onUp: () => this.#tellGap(),
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
        await link.watch.during(client.subscribe(...missing))
        for (const channel of missing) subscribed.add(channel)
      } catch (error) {
        // The next connection begins with these channels.
        if (left <= 1 || link.client === client) throw error
      }
    }
  }

  async #start(link: OwnLink): Promise<void> {
    try {
      await link.start()
      this.#askedAt = this.#clock.monotonic()
    } catch (error) {
      // All who wait for it fail; the next who listens tries again.
      if (this.#link === link) this.#closeLink()
      throw error
    }
  }

  async #setUp(client: NodeClient, watch: Watch): Promise<void> {
    const subscribed = new Set(this.#listeners.keys())
    client.on('messageBuffer', (channel: Buffer, message: Buffer) => this.#tell(channel.toString(), message))
    if (subscribed.size > 0) await watch.during(client.subscribe(...subscribed))
    this.#subscribed = subscribed
  }

  #tell(channel: string, message: Buffer): void {
    for (const { onMessage } of this.#listeners.get(channel) ?? []) onMessage(channel, message)
  }

  #tellGap(): void {
    const all = new Set([...this.#listeners.values()].flatMap((listeners) => [...listeners]))
    for (const { onGap } of all) onGap()
  }
}
