// admin.counters(): how often each event happened since the first call. Counting needs a stream, so it begins with that call.

import type { FleetEvent } from './fleet-events.ts'

/** Numbers of events since `since`. */
export interface EventCounters {
  /** When the counting began: epoch ms, by the local clock. */
  readonly since: number
  /** Of all processes, or of this one only. */
  readonly scope: 'fleet' | 'process'
  /** Per event; absent ones did not happen. */
  readonly events: Readonly<Partial<Record<FleetEvent['event'], number>>>
}

export class Counters {
  readonly #since: number
  readonly #scope: EventCounters['scope']
  readonly #events: Partial<Record<FleetEvent['event'], number>> = {}

  constructor(since: number, scope: EventCounters['scope']) {
    this.#since = since
    this.#scope = scope
  }

  async follow(stream: AsyncIterable<FleetEvent>): Promise<void> {
    for await (const { event } of stream) this.#events[event] = (this.#events[event] ?? 0) + 1
  }

  read(): EventCounters {
    return { since: this.#since, scope: this.#scope, events: { ...this.#events } }
  }
}
