// What a fast path reports once its statement is committed: hints for other processes, and signals and events for the listeners of
// this one.

import { type Listeners, notify } from '../../rules/signals.ts'
import type { JobEvent, Signal } from '../../storage.ts'
import type { HandedCells } from '../connection/handed-job.ts'
import { encodeHandedHint, encodeHints } from '../connection/hints.ts'

export class AfterCommit {
  /** Channel of the hints. */
  readonly channel: string
  /** Id of the storage that ignores the hints, if there is one. */
  readonly #instance: string | undefined
  readonly #listenersOf: (type: string) => Listeners
  #signals: Signal[] | undefined
  #events: Map<string, JobEvent[]> | undefined

  /** @param instance undefined: this process does not see the commit, and must act on the hint as all others do */
  constructor(channel: string, instance: string | undefined, listenersOf: (type: string) => Listeners) {
    this.channel = channel
    this.#instance = instance
    this.#listenersOf = listenersOf
  }

  /** The message for other processes, which the statement sends by NOTIFY. Null: no signals. */
  hint(signals: readonly Signal[]): string | null {
    return encodeHints(signals, this.#instance) ?? null
  }

  /** The first part of the message that carries a job. */
  handedHint(type: string, job: HandedCells): string {
    return encodeHandedHint(type, this.#instance, job)
  }

  /** Notifies the listeners of this process. Call it after the commit. */
  signal(signal: Signal): void {
    notify(this.#listenersOf(signal.type), signal)
  }

  /** Collects a signal for send(). */
  add(signal: Signal): void {
    ;(this.#signals ??= []).push(signal)
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

  /** Sends the collected signals, then the events, in the order in which they happened. Call it after the commit. */
  send(): void {
    for (const signal of this.#signals ?? []) this.signal(signal)
    for (const [type, events] of this.#events ?? []) this.signal({ kind: 'events', type, events })
  }
}
