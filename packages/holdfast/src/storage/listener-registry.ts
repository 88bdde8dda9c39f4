// The listeners of one process, by type, for drivers whose hints also come from other processes. The first listener
// subscribes to those hints, and the end of the last one ends the subscription.

import { type Listeners, newListeners, notify } from './rules/signals.ts'
import type { Signal, Topic, Unlisten } from './storage.ts'

/** Resolves once every later hint of another process will arrive, with a function that ends the subscription. */
type Subscribe<Opened> = (opened: Opened) => Promise<() => Promise<void> | void>

export class ListenerRegistry<Opened> {
  readonly #subscribe: Subscribe<Opened>
  readonly #byType = new Map<string, Listeners>()
  /** Calls of listen() that have not ended. */
  #count = 0
  #subscription: ReturnType<Subscribe<Opened>> | undefined

  /** @param subscribe starts to receive the hints of other processes, on what the driver has opened */
  constructor(subscribe: Subscribe<Opened>) {
    this.#subscribe = subscribe
  }

  get isOpen(): boolean {
    return this.#subscription !== undefined
  }

  readonly listenersOf = (type: string): Listeners => {
    let listeners = this.#byType.get(type)
    if (!listeners) this.#byType.set(type, (listeners = newListeners()))
    return listeners
  }

  notify(signal: Signal): void {
    notify(this.listenersOf(signal.type), signal)
  }

  /** Sends every listener a hint without ids, after hints of any type may have been lost. */
  notifyAll(): void {
    for (const [type, listeners] of this.#byType) {
      for (const kind of ['wake', 'done', 'abort'] as const) notify(listeners, { kind, type })
    }
  }

  async listen(opened: Opened, topics: readonly Topic[], onSignal: (signal: Signal) => void): Promise<Unlisten> {
    // A new function for each call, so that one `onSignal` can listen twice.
    const listener = (signal: Signal): void => onSignal(signal)
    for (const { type, kind } of topics) this.listenersOf(type)[kind].add(listener)
    this.#count++
    let isListening = true
    const unlisten = async (): Promise<void> => {
      if (!isListening) return
      isListening = false
      for (const { type, kind } of topics) this.listenersOf(type)[kind].delete(listener)
      this.#count--
      if (this.#count > 0) return
      const subscription = this.#subscription
      this.#subscription = undefined
      const end = await subscription?.catch(() => undefined)
      await end?.()
    }
    try {
      await (this.#subscription ?? this.#open(opened))
    } catch (error) {
      await unlisten()
      throw error
    }
    return unlisten
  }

  /** Subscribes again after a reconnect, for the listeners that are still registered. */
  async reopen(opened: Opened): Promise<void> {
    if (this.#count > 0) await this.#open(opened)
  }

  /** The driver closed what the subscription used. */
  closed(): void {
    this.#subscription = undefined
  }

  #open(opened: Opened): ReturnType<Subscribe<Opened>> {
    const subscription = this.#subscribe(opened)
    subscription.catch(() => {
      if (this.#subscription === subscription) this.#subscription = undefined
    })
    this.#subscription = subscription
    return subscription
  }
}
