// listen: its calls, across disconnects and gaps. The server knows which types are watched, and publishes events only for
// those. A server that restarted without its data, or replaced another, may not know: the types are marked again.

import type { Clock, Timer } from '../../../clock.ts'
import type { Signal, Topic, Unlisten } from '../../storage.ts'
import { encodeType } from '../codec/requests.ts'
import { signalOf } from '../codec/signals.ts'
import type { Connection } from '../connection/connection.ts'
import type { Script } from '../lua/scripts.ts'

/** How long the server takes a type for watched without a renewal, in ms. */
const watchedMs = 60_000
/** Before the next attempt to mark a type as watched, in ms. */
const retryMs = 500

/** One call of listen(). It lasts until its unlisten(), also across disconnect() and connect(). */
interface Listener {
  readonly topics: readonly Topic[]
  readonly onSignal: (signal: Signal) => void
  stop: (() => Promise<void>) | undefined
  /** A gap is being reported. */
  isReporting: boolean
  retry: Timer | undefined
}

export class Listeners {
  readonly #script: Script
  readonly #base: string
  readonly #clock: Clock
  readonly #listeners = new Set<Listener>()
  #connection: Connection | undefined
  #renewal: Timer | undefined

  /**
   * @param script marks a type as watched
   * @param base what every key and channel begins with
   */
  constructor(script: Script, base: string, clock: Clock) {
    this.#script = script
    this.#base = base
    this.#clock = clock
  }

  async listen(
    connection: Connection,
    topics: readonly Topic[],
    onSignal: (signal: Signal) => void,
  ): Promise<Unlisten> {
    const listener: Listener = { topics, onSignal, stop: undefined, isReporting: false, retry: undefined }
    await this.#listenOn(connection, listener)
    this.#listeners.add(listener)
    return async () => {
      if (!this.#listeners.delete(listener)) return
      await listener.stop?.()
    }
  }

  /** The storage is connected again: listeners that were not stopped continue there. */
  async reopen(connection: Connection): Promise<void> {
    this.#connection = connection
    for (const listener of this.#listeners) await this.#listenOn(connection, listener)
  }

  closed(): void {
    this.#connection = undefined
    this.#renewal?.cancel()
    this.#renewal = undefined
  }

  async #listenOn(connection: Connection, listener: Listener): Promise<void> {
    const { topics, onSignal } = listener
    const watched = watchedTypes(topics)
    const channels = new Map(topics.map((topic) => [`${this.#base}${encodeType(topic.type)}:${topic.kind}`, topic]))
    listener.stop = await connection.listen(
      [...channels.keys()],
      (channel, message) => {
        const { kind, type } = channels.get(channel)!
        onSignal(signalOf(kind, type, message))
      },
      () => void this.#reportGap(connection, listener, watched),
    )
    if (watched.length > 0) await this.#watch(connection, watched)
  }

  /**
   * Marks the types as watched first: events before that are missed, too, and belong to the gap. If that fails, the gap is
   * reported all the same, and again after the next attempt.
   */
  async #reportGap(connection: Connection, listener: Listener, watched: readonly string[]): Promise<void> {
    // The report under way covers this gap, too.
    if (listener.isReporting) return
    listener.isReporting = true
    let isWatched = true
    if (watched.length > 0) await this.#watch(connection, watched).catch(() => (isWatched = false))
    listener.isReporting = false
    if (!this.#listeners.has(listener)) return
    for (const { kind, type } of listener.topics) {
      listener.onSignal(kind === 'events' ? { kind, type, gap: true } : { kind, type })
    }
    if (isWatched || this.#connection !== connection) return
    const retry = (): void => void this.#reportGap(connection, listener, watched)
    listener.retry?.cancel()
    listener.retry = this.#clock.after(retryMs, retry, { keepsAlive: false })
  }

  /** Marks types as watched, and renews that every third of watchedMs while they have listeners. */
  async #watch(connection: Connection, types: readonly string[]): Promise<void> {
    for (const type of types) await connection.run(this.#script, this.#base, [type, String(watchedMs)])
    this.#renewal ??= this.#clock.after(
      watchedMs / 3,
      () => {
        this.#renewal = undefined
        const still = new Set([...this.#listeners].flatMap(({ topics }) => watchedTypes(topics)))
        if (still.size === 0 || this.#connection !== connection) return
        this.#watch(connection, [...still]).catch(() => this.#watch(connection, []))
      },
      { keepsAlive: false },
    )
  }
}

const watchedTypes = (topics: readonly Topic[]): string[] =>
  topics.filter(({ kind }) => kind === 'events').map(({ type }) => type)
