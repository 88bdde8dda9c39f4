// queue.events(): what happens to the jobs of a name, in all processes where the storage can tell, else in this one.

import type { Clock } from '../clock.ts'
import { engineDefaults } from '../engine/defaults.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import type { JobEvent, Signal, Unlisten } from '../storage/storage.ts'

export type QueueEvent =
  | {
      readonly event: JobEvent['event']
      readonly id: string
      /** Attempts that count, this one included; 0 before the first. */
      readonly attempt: number
      /** The storage's time, epoch ms. */
      readonly at: number
      readonly workerId?: string
    }
  /** Some may be missing: look again. */
  | { readonly event: 'gap'; readonly at: number }

/** Ends by `break`, by its signal, or when the queue stops. */
export interface EventStream extends AsyncIterable<QueueEvent> {
  /** Resolves once it listens: what happens later is delivered, in order per job, once. */
  readonly ready: Promise<void>
}

export class LiveStream implements EventStream {
  readonly ready: Promise<void>
  readonly #clock: Clock
  #unread: QueueEvent[] = []
  #readers: ((result: IteratorResult<QueueEvent>) => void)[] = []
  #ended = false
  #unlisten: Unlisten | undefined
  readonly #onEnd: () => void

  /** @param listen connects first, if need be */
  constructor(listen: GuardedStorage['listen'], type: string, clock: Clock, onEnd: () => void) {
    this.#clock = clock
    this.#onEnd = onEnd
    this.ready = this.#listen(listen, type)
    // Whoever awaits it sees the failure; to the others the stream just ends.
    this.ready.catch(() => this.end())
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    for (const reader of this.#readers) reader({ value: undefined, done: true })
    this.#readers = []
    void this.#unlisten?.().catch(() => {})
    this.#onEnd()
  }

  [Symbol.asyncIterator](): AsyncIterator<QueueEvent> {
    return {
      next: () => {
        const value = this.#unread.shift()
        if (value) return Promise.resolve({ value, done: false })
        if (this.#ended) return Promise.resolve({ value: undefined, done: true })
        return new Promise((resolve) => this.#readers.push(resolve))
      },
      return: () => {
        this.end()
        this.#unread = []
        return Promise.resolve({ value: undefined, done: true })
      },
    }
  }

  async #listen(listen: GuardedStorage['listen'], type: string): Promise<void> {
    this.#unlisten = await listen([{ kind: 'events', type }], (signal) => this.#receive(signal))
    if (this.#ended) await this.#unlisten()
  }

  #receive({ events = [], gap }: Signal): void {
    if (this.#ended) return
    if (gap) this.#push({ event: 'gap', at: this.#clock.now() })
    for (const { event, id, attempt, at, label } of events) {
      this.#push(label === undefined ? { event, id, attempt, at } : { event, id, attempt, at, workerId: label })
    }
  }

  #push(event: QueueEvent): void {
    const reader = this.#readers.shift()
    if (reader) return reader({ value: event, done: false })
    if (this.#unread.length < engineDefaults.streamBuffer) return void this.#unread.push(event)
    // Nobody reads: what is unread goes, and the gap says so.
    this.#unread = [{ event: 'gap', at: event.at }, event]
  }
}
