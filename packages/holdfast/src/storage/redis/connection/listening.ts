// Who listens, over disconnects and gaps. A server that came back without its data, or took another's place, may know of
// nobody who watches: it is told anew.

import type { Clock, Timer } from '../../../clock.ts'
import type { Signal, Topic, Unlisten } from '../../storage.ts'
import type { Connection } from './connection.ts'
import { encodeType } from '../codec/requests.ts'
import type { Script } from '../scripts.ts'
import { signalOf } from '../codec/signals.ts'

/** How long a listener for events is taken to be there, without a word of it. */
const watchedMs = 60_000
/** Until a server that could not be told of one is told again. */
const tellAgainMs = 500

/** One call of listen(), for as long as it lasts: also over a disconnect and the next connect. */
interface Listener {
  readonly topics: readonly Topic[]
  readonly onSignal: (signal: Signal) => void
  stop: (() => Promise<void>) | undefined
  /** Being told to the server, and then to who listens. */
  hasGap: boolean
  again: Timer | undefined
}

export class Listening {
  readonly #script: Script
  readonly #base: string
  readonly #clock: Clock
  readonly #listeners = new Set<Listener>()
  #connection: Connection | undefined
  #watching: Timer | undefined

  /** @param script tells the server that a type is watched; base: what every key and channel begins with */
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
    const listener: Listener = { topics, onSignal, stop: undefined, hasGap: false, again: undefined }
    await this.#listenOn(connection, listener)
    this.#listeners.add(listener)
    return async () => {
      if (!this.#listeners.delete(listener)) return
      await listener.stop?.()
    }
  }

  /** Opened again, for those who never ceased to listen. */
  async reopen(connection: Connection): Promise<void> {
    this.#connection = connection
    for (const listener of this.#listeners) await this.#listenOn(connection, listener)
  }

  closed(): void {
    this.#connection = undefined
    this.#watching?.cancel()
    this.#watching = undefined
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
      () => void this.#tellGap(connection, listener, watched),
    )
    if (watched.length > 0) await this.#watch(connection, watched)
  }

  /** The server is told first, since what happens before that is missed, too; if that fails, again until it does not. */
  async #tellGap(connection: Connection, listener: Listener, watched: readonly string[]): Promise<void> {
    // The one under way tells of this one, too.
    if (listener.hasGap) return
    listener.hasGap = true
    let isTold = true
    if (watched.length > 0) await this.#watch(connection, watched).catch(() => (isTold = false))
    listener.hasGap = false
    if (!this.#listeners.has(listener)) return
    for (const { kind, type } of listener.topics) {
      listener.onSignal(kind === 'events' ? { kind, type, gap: true } : { kind, type })
    }
    if (isTold || this.#connection !== connection) return
    const again = (): void => void this.#tellGap(connection, listener, watched)
    listener.again?.cancel()
    listener.again = this.#clock.after(tellAgainMs, again, { keepsAlive: false })
  }

  /** Events are put together only for a type that somebody watches, so that must be said, again and again. */
  async #watch(connection: Connection, types: readonly string[]): Promise<void> {
    for (const type of types) await connection.run(this.#script, this.#base, [type, String(watchedMs)])
    this.#watching ??= this.#clock.after(
      watchedMs / 3,
      () => {
        this.#watching = undefined
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
