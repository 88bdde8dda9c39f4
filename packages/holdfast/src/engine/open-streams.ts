// The streams of a face that have not ended: each ends with its signal, by its reader, or with the face.

import type { LiveStream } from './event-stream.ts'

export class OpenStreams<E> {
  readonly #streams = new Set<LiveStream<E>>()

  /** @param newStream makes the stream; it calls `onEnd` at its end @param signal ends it; one that has aborted, at once */
  open(newStream: (onEnd: () => void) => LiveStream<E>, signal: AbortSignal | undefined): LiveStream<E> {
    const end = (): void => stream.end()
    const stream = newStream(() => {
      this.#streams.delete(stream)
      signal?.removeEventListener('abort', end)
    })
    this.#streams.add(stream)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end)
    return stream
  }

  end(): void {
    for (const stream of this.#streams) stream.end()
  }
}
