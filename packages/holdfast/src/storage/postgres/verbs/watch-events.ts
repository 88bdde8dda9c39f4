// listen, for events: while a type has a listener for them, it is marked as watched, and every process publishes its events. A mark
// expires, so that a process that is gone costs nothing; it is renewed while there are listeners.

import type { Clock, Timer } from '../../../clock.ts'
import type { Signal, Unlisten } from '../../storage.ts'
import { decodeEvents } from '../connection/event-messages.ts'
import { arrayOf } from '../sql/text.ts'
import type { OpenStorage } from './open-storage.ts'

/** How long a type is watched without a renewal, in ms. */
const watchedMs = 60_000

export class EventWatches {
  readonly #clock: Clock
  readonly #channel: string
  readonly #notify: (signal: Signal) => void
  /** Number of listeners by type. */
  readonly #counts = new Map<string, number>()
  #open: OpenStorage | undefined
  #subscription: Promise<() => Promise<void>> | undefined
  #renewal: Timer | undefined

  constructor(clock: Clock, channel: string, notify: (signal: Signal) => void) {
    this.#clock = clock
    this.#channel = channel
    this.#notify = notify
  }

  /** Resolves once the events of every later call will arrive. */
  async watch(open: OpenStorage, types: readonly string[]): Promise<Unlisten> {
    for (const type of types) this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1)
    let isWatching = true
    const unwatch = async (): Promise<void> => {
      if (!isWatching) return
      isWatching = false
      await this.#unwatch(types)
    }
    try {
      await this.reopen(open)
    } catch (error) {
      await unwatch()
      throw error
    }
    return unwatch
  }

  /** Subscribes and marks the types, for the listeners that there are. */
  async reopen(open: OpenStorage): Promise<void> {
    if (this.#counts.size === 0) return
    this.#open = open
    this.#subscription ??= this.#subscribe(open)
    await this.#subscription
    await this.#mark(open)
  }

  /** The storage has closed its connections. */
  closed(): void {
    this.#open = undefined
    this.#subscription = undefined
    this.#renewal?.cancel()
    this.#renewal = undefined
  }

  #subscribe(open: OpenStorage): Promise<() => Promise<void>> {
    const subscription = open.database.listen(
      this.#channel,
      (payload) => this.#receive(payload),
      () => void this.#reportGap(open),
    )
    subscription.catch(() => {
      if (this.#subscription === subscription) this.#subscription = undefined
    })
    return subscription
  }

  #receive(payload: string): void {
    const message = decodeEvents(payload)
    if (!message) return
    const { type, events } = message
    if (type !== undefined && events) this.#notify({ kind: 'events', type, events })
    else this.#notifyGap(type === undefined ? this.#counts.keys() : [type])
  }

  #notifyGap(types: Iterable<string>): void {
    for (const type of types) this.#notify({ kind: 'events', type, gap: true })
  }

  /** Marks the types first: what happened before that is missed, too, and belongs to the gap. */
  async #reportGap(open: OpenStorage): Promise<void> {
    if (this.#open !== open) return
    await this.#mark(open).catch(() => this.#renewLater(open))
    this.#notifyGap([...this.#counts.keys()])
  }

  async #mark(open: OpenStorage): Promise<void> {
    const { database, types, statements, instance } = open
    const names = [...this.#counts.keys()]
    await types.register(
      database,
      names.map((type) => ({ type })),
    )
    const tids = arrayOf(names.map((name) => types.tidOf(name)!))
    await database.query(statements.watch, [tids, instance, watchedMs])
    this.#renewLater(open)
  }

  /** A mark that was missing for a while is a gap. */
  #renewLater(open: OpenStorage): void {
    this.#renewal?.cancel()
    const renew = (): void => {
      if (this.#open !== open || this.#counts.size === 0) return
      this.#mark(open).catch(() => this.#reportGap(open))
    }
    this.#renewal = this.#clock.after(watchedMs / 3, renew, { keepsAlive: false })
  }

  async #unwatch(types: readonly string[]): Promise<void> {
    const open = this.#open
    const ended = types.filter((type) => {
      const left = (this.#counts.get(type) ?? 1) - 1
      if (left > 0) this.#counts.set(type, left)
      else this.#counts.delete(type)
      return left <= 0
    })
    if (!open) return
    const tids = ended.flatMap((type) => open.types.tidOf(type) ?? [])
    // If it fails, the marks expire.
    if (tids.length > 0) {
      await open.database.query(open.statements.unwatch, [arrayOf(tids), open.instance]).catch(() => {})
    }
    if (this.#counts.size > 0) return
    const subscription = this.#subscription
    this.closed()
    const end = await subscription?.catch(() => undefined)
    await end?.()
  }
}
