// What a fast path reports once its statement is committed: hints for other processes, and signals and events for the listeners of
// this one.

import { type Listeners, notify } from '../../rules/signals.ts'
import type { JobEvent, Signal } from '../../storage.ts'
import { encodeHints } from '../connection/hints.ts'

export class AfterCommit {
  /** Channel of the hints. */
  readonly channel: string
  /** Id of this storage, which ignores its own hints. */
  readonly #instance: string
  readonly #listenersOf: (type: string) => Listeners
  #events: Map<string, JobEvent[]> | undefined

  constructor(channel: string, instance: string, listenersOf: (type: string) => Listeners) {
    this.channel = channel
    this.#instance = instance
    this.#listenersOf = listenersOf
  }

  /** The message for other processes, which the statement sends by NOTIFY. Null: no signals. */
  hint(signals: readonly Signal[]): string | null {
    return encodeHints(signals, this.#instance) ?? null
  }

  /** Notifies the listeners of this process. Call it after the commit. */
  signal(signal: Signal): void {
    notify(this.#listenersOf(signal.type), signal)
  }

  hasEventListeners(type: string): boolean {
    return this.#listenersOf(type).events.size > 0
  }

  /** Collects an event for send(). */
  event(type: string, event: JobEvent): void {
    if (!this.hasEventListeners(type)) return
    this.#events ??= new Map()
    const events = this.#events.get(type)
    if (events) events.push(event)
    else this.#events.set(type, [event])
  }

  /** Sends the collected events, in the order in which they happened. */
  send(): void {
    for (const [type, events] of this.#events ?? []) this.signal({ kind: 'events', type, events })
  }
}
