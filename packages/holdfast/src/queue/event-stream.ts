// queue.events(): a stream of what happens to the jobs of a name. It has the events of all processes if the storage has
// `features.fleetEvents`, else those of this process.

import type { Clock } from '../clock.ts'
import { engineDefaults } from '../engine/defaults.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import type { JobEvent, Signal, Unlisten } from '../storage/storage.ts'

/** One entry of queue.events(). `gap`: some events may be missing, so read the state of the jobs again. */
export type QueueEvent =
  | {
      readonly event: JobEvent['event']
      readonly id: string
      /** Number of the run, from 1; released ones do not count. 0 before the first. */
      readonly attempt: number
      /** When it happened, by the storage's clock, in epoch ms. */
      readonly at: number
      /** Name of the worker, if one did it. */
      readonly workerId?: string
    }
  | { readonly event: 'gap'; readonly at: number }

/** The stream of queue.events(). Ends by `break`, by its signal, or when the queue stops. */
export interface EventStream extends AsyncIterable<QueueEvent> {
  /** Resolves when the stream listens: later events are delivered once, in order per job. Rejects if the storage fails. */
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

  /** @param listen connects first, if necessary */
  constructor(listen: GuardedStorage['listen'], type: string, clock: Clock, onEnd: () => void) {
    this.#clock = clock
    this.#onEnd = onEnd
    this.ready = this.#listen(listen, type)
    // A caller that awaits `ready` sees the failure. For others the stream ends.
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
    // The buffer is full: unread events are dropped, and a gap is reported.
    this.#unread = [{ event: 'gap', at: event.at }, event]
  }
}
