// A stream of what happens to jobs, from the signals of a storage. Unread entries are kept up to a bound; beyond it they are dropped,
// and the reader is told so by a gap.

import type { Clock } from '../clock.ts'
import type { JobEvent, Signal, Unlisten } from '../storage/storage.ts'
import { engineDefaults } from './defaults.ts'

/** What happened to a job. */
export interface JobEventEntry {
  readonly event: JobEvent['event']
  readonly id: string
  /** Number of the run, from 1; released ones do not count. 0 before the first. */
  readonly attempt: number
  /** When it happened, by the storage's clock, in epoch ms. */
  readonly at: number
  /** Name of the worker, if one did it. */
  readonly workerId?: string
}

/** Some events may be missing. */
export interface GapEntry {
  readonly event: 'gap'
  readonly at: number
}

/** Entries of one signal, in order. @param about fields that each of them has besides */
export function entriesOf<A extends object>(
  { events = [], gap }: Signal,
  clock: Clock,
  about: A,
): ((JobEventEntry & A) | (GapEntry & A))[] {
  const entries = events.map(({ event, id, attempt, at, label }) => {
    const entry = { event, ...about, id, attempt, at }
    return label === undefined ? entry : { ...entry, workerId: label }
  })
  return gap ? [{ event: 'gap', ...about, at: clock.now() }, ...entries] : entries
}

export interface LiveStreamParts<E> {
  /** Begins to listen; connects first, if necessary. @returns what ends it */
  open(receive: (signal: Signal) => void): Promise<Unlisten>
  /** Entries of one signal, in order. */
  entriesOf(signal: Signal): readonly E[]
  /** The entry that tells of missing ones. @param next the first entry after them */
  gapBefore(next: E): E
  onEnd(): void
}

export class LiveStream<E> implements AsyncIterable<E> {
  /** Resolves when the stream listens. Rejects if the storage fails. */
  readonly ready: Promise<void>
  readonly #parts: LiveStreamParts<E>
  #unread: E[] = []
  #readers: ((result: IteratorResult<E>) => void)[] = []
  #ended = false
  #unlisten: Unlisten | undefined

  constructor(parts: LiveStreamParts<E>) {
    this.#parts = parts
    this.ready = this.#open()
    // A caller that awaits `ready` sees the failure. For others the stream ends.
    this.ready.catch(() => this.end())
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    for (const reader of this.#readers) reader({ value: undefined, done: true })
    this.#readers = []
    void this.#unlisten?.().catch(() => {})
    this.#parts.onEnd()
  }

  [Symbol.asyncIterator](): AsyncIterator<E> {
    return {
      next: () => {
        const value = this.#unread.shift()
        if (value !== undefined) return Promise.resolve({ value, done: false })
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

  async #open(): Promise<void> {
    this.#unlisten = await this.#parts.open((signal) => this.#receive(signal))
    if (this.#ended) await this.#unlisten()
  }

  #receive(signal: Signal): void {
    if (this.#ended) return
    for (const entry of this.#parts.entriesOf(signal)) this.#push(entry)
  }

  #push(entry: E): void {
    const reader = this.#readers.shift()
    if (reader) return reader({ value: entry, done: false })
    if (this.#unread.length < engineDefaults.streamBuffer) return void this.#unread.push(entry)
    // The buffer is full: unread entries are dropped, and a gap is reported.
    this.#unread = [this.#parts.gapBefore(entry), entry]
  }
}
