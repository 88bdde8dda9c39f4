// What a short way tells the listeners of this process, once its statement is committed.

import type { JobEvent, Signal } from '../../storage.ts'
import { type Listeners, notify } from '../../rules/signals.ts'

export class Told {
  readonly channel: string
  /** Who tells: it does not hear itself. */
  readonly from: string
  readonly #listenersOf: (type: string) => Listeners
  #events: Map<string, JobEvent[]> | undefined

  constructor(channel: string, from: string, listenersOf: (type: string) => Listeners) {
    this.channel = channel
    this.from = from
    this.#listenersOf = listenersOf
  }

  signal(signal: Signal): void {
    notify(this.#listenersOf(signal.type), signal)
  }

  hasEvents(type: string): boolean {
    return this.#listenersOf(type).events.size > 0
  }

  event(type: string, event: JobEvent): void {
    if (!this.hasEvents(type)) return
    this.#events ??= new Map()
    const events = this.#events.get(type)
    if (events) events.push(event)
    else this.#events.set(type, [event])
  }

  /** In the order in which things happened. */
  end(): void {
    for (const [type, events] of this.#events ?? []) this.signal({ kind: 'events', type, events })
  }
}
