// Who listens in this process, by type, for drivers whose hints also come from other processes: the first to listen opens
// the ear for those, the last one out closes it.

import { type Listeners, newListeners, notify } from './rules/signals.ts'
import type { Signal, Topic, Unlisten } from './storage.ts'

/** Resolves once every later hint will come. It answers with what ends it. */
type Hear<Opened> = (opened: Opened) => Promise<() => Promise<void> | void>

export class ListenerRegistry<Opened> {
  readonly #hear: Hear<Opened>
  readonly #byType = new Map<string, Listeners>()
  #listening = 0
  #ear: ReturnType<Hear<Opened>> | undefined

  /** @param hear begins to hear others, on what the driver has opened */
  constructor(hear: Hear<Opened>) {
    this.#hear = hear
  }

  get isOpen(): boolean {
    return this.#ear !== undefined
  }

  readonly listenersOf = (type: string): Listeners => {
    let listeners = this.#byType.get(type)
    if (!listeners) this.#byType.set(type, (listeners = newListeners()))
    return listeners
  }

  notify(signal: Signal): void {
    notify(this.listenersOf(signal.type), signal)
  }

  /** What was missed may have been about anything. */
  notifyAll(): void {
    for (const [type, listeners] of this.#byType) {
      for (const kind of ['wake', 'done', 'abort'] as const) notify(listeners, { kind, type })
    }
  }

  async listen(opened: Opened, topics: readonly Topic[], onSignal: (signal: Signal) => void): Promise<Unlisten> {
    // A listener of its own for each call, so that the same function may listen twice.
    const listener = (signal: Signal): void => onSignal(signal)
    for (const { type, kind } of topics) this.listenersOf(type)[kind].add(listener)
    this.#listening++
    let listens = true
    const unlisten = async (): Promise<void> => {
      if (!listens) return
      listens = false
      for (const { type, kind } of topics) this.listenersOf(type)[kind].delete(listener)
      this.#listening--
      if (this.#listening > 0) return
      const ear = this.#ear
      this.#ear = undefined
      const close = await ear?.catch(() => undefined)
      await close?.()
    }
    try {
      await (this.#ear ?? this.#open(opened))
    } catch (error) {
      await unlisten()
      throw error
    }
    return unlisten
  }

  /** Opened again, for those who never ceased to listen. */
  async reopen(opened: Opened): Promise<void> {
    if (this.#listening > 0) await this.#open(opened)
  }

  /** What it heard with is closed. */
  closed(): void {
    this.#ear = undefined
  }

  #open(opened: Opened): ReturnType<Hear<Opened>> {
    const ear = this.#hear(opened)
    ear.catch(() => {
      if (this.#ear === ear) this.#ear = undefined
    })
    this.#ear = ear
    return ear
  }
}
