// The live data of a page, as server-sent events: the answers of its views, when they have changed. Viewers share the reads behind
// them (shared-reads.ts), so a second viewer costs the storage nothing.

import type { Clock } from 'holdfast'
import type { Answer } from '../shared/api.ts'
import { requestErrorOf, RequestError } from './http/errors.ts'
import { respond, toJson } from './http/responses.ts'

/** Time between two looks, in ms: a page gets at most one event per view and second. */
const tickMs = 1_000
/** A stream ends after this time. The page connects again, and is authorized again. */
const lifeMs = 600_000
const [mostStreams, mostViews] = [500, 5]

/** A view of the page, by the path and query of its GET. */
export interface StreamedView {
  readonly of: string
  read(): Promise<Answer<unknown>>
}

export class Streams {
  readonly #clock: Clock
  readonly #onInternal: (error: unknown) => void
  /**
   * What ends each stream, with its request. A request that is not referenced may be collected while its body is sent, and its signal
   * never aborts then: the stream would go on without a viewer.
   */
  readonly #open = new Map<() => void, Request>()

  constructor(clock: Clock, onInternal: (error: unknown) => void) {
    this.#clock = clock
    this.#onInternal = onInternal
  }

  /** @param request its signal says that the viewer is gone @throws RequestError 400, 503 */
  open(views: readonly StreamedView[], request: Request): Response {
    if (views.length === 0 || views.length > mostViews) {
      throw new RequestError(400, 'INVALID_ARGUMENT', `of: expected 1 … ${mostViews} views.`)
    }
    if (this.#open.size >= mostStreams) {
      throw new RequestError(503, 'TOO_MANY_STREAMS', `${mostStreams} pages are open. Reload this one to see news.`)
    }
    let end: (() => void) | undefined
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        end = this.#follow(controller, views, request)
        request.signal.addEventListener('abort', end, { once: true })
      },
      cancel: () => end?.(),
    })
    return respond(body, 200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' })
  }

  close(): void {
    for (const end of this.#open.keys()) end()
  }

  /** @returns what ends it */
  #follow(
    controller: ReadableStreamDefaultController<Uint8Array>,
    views: readonly StreamedView[],
    request: Request,
  ): () => void {
    const clock = this.#clock
    const sent = new Map<string, { readonly json: string; readonly at: number }>()
    const endsAt = clock.monotonic() + lifeMs
    let timer = clock.after(0, () => void tick(), { keepsAlive: false })
    const send = (event: string, data: string): void => {
      controller.enqueue(Buffer.from(`event: ${event}\ndata: ${data}\n\n`))
    }
    const end = (): void => {
      if (!this.#open.delete(end)) return
      timer.cancel()
      try {
        controller.close()
      } catch {
        // The viewer has cancelled it.
      }
    }
    const look = async ({ of, read }: StreamedView): Promise<void> => {
      let event = 'answer'
      let json: string
      let at: number
      let costMs = 0
      let countMs: number | undefined
      try {
        const answer = await read()
        ;({ at, costMs, countMs } = answer)
        json = toJson(answer.data)
      } catch (thrown) {
        const { code, message } = requestErrorOf(thrown, this.#onInternal)
        event = 'problem'
        at = clock.now()
        json = toJson({ code, error: message })
      }
      const before = sent.get(of)
      if (!this.#open.has(end) || (before?.json === json && before.at === at)) return
      sent.set(of, { json, at })
      const head = `{"of":${JSON.stringify(of)},"now":${clock.now()},"at":${at},"costMs":${costMs}${countMs === undefined ? '' : `,"countMs":${countMs}`}`
      // The same data, read again: only its time is news.
      send(before?.json === json ? 'same' : event, before?.json === json ? `${head}}` : `${head},"data":${json}}`)
    }
    const tick = async (): Promise<void> => {
      // A viewer that reads slowly gets fewer events, not a backlog.
      if ((controller.desiredSize ?? 1) > 0) await Promise.all(views.map(look))
      if (!this.#open.has(end)) return
      if (clock.monotonic() >= endsAt) end()
      else timer = clock.after(tickMs, () => void tick(), { keepsAlive: false })
    }
    this.#open.set(end, request)
    return end
  }
}
