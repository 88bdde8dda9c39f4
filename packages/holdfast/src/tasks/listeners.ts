// The queues that tasks listen on: one listener for each distinct queue.
// A queue of this package is ready once its worker is; a foreign queue has no ready signal, and is ready once listen() was called.

import { atMost, type Clock } from '../clock.ts'
import { engineDefaults } from '../engine/defaults.ts'
import type { Health } from '../engine/health.ts'
import { sharedOptions } from '../engine/options.ts'
import { mayPass } from '../engine/retry-until-ready.ts'
import type { Consumer, MessageHandler, MessageQueue } from './queue/message-queue.ts'

interface Listening {
  readonly clock: Clock
  handlerOf(queue: MessageQueue): MessageHandler
  /** Called when the listen() of a foreign queue fails after it was ready. */
  onFailure(error: unknown): void
}

export class QueueListeners {
  readonly #listening: Listening
  readonly #open = new Map<MessageQueue, Consumer>()
  readonly #opening = new Map<MessageQueue, Promise<void>>()

  constructor(listening: Listening) {
    this.#listening = listening
  }

  /**
   * Listens on the queues that it does not listen on yet. Resolves when all are ready.
   * @param signal aborted: a queue that becomes ready later is stopped at once
   * @throws the first failure. Queues that are ready go on if a retry may help, else all are stopped
   */
  async open(queues: Iterable<MessageQueue>, signal: AbortSignal): Promise<void> {
    const missing = [...queues].filter((queue) => !this.#open.has(queue))
    const results = await Promise.allSettled(missing.map((queue) => this.#openOnce(queue, signal)))
    for (const result of results) {
      if (result.status === 'fulfilled') continue
      if (!mayPass(result.reason)) await this.close(0)
      throw result.reason
    }
  }

  /** Of each queue that has one: a foreign queue has none. */
  health(): Health[] {
    return [...this.#open.values()].flatMap((consumer) => consumer.health?.() ?? [])
  }

  /** @param graceMs undefined: each queue's own. Never rejects */
  async close(graceMs: number | undefined): Promise<void> {
    const consumers = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(consumers.map((consumer) => consumer.stop({ graceMs })))
  }

  /** A queue may be asked for while it is being opened: defineTask() adds one while start() is under way. */
  #openOnce(queue: MessageQueue, signal: AbortSignal): Promise<void> {
    const opening = this.#opening.get(queue) ?? this.#openOne(queue, signal).finally(() => this.#opening.delete(queue))
    this.#opening.set(queue, opening)
    return opening
  }

  async #openOne(queue: MessageQueue, signal: AbortSignal): Promise<void> {
    const handler = this.#listening.handlerOf(queue)
    const isOurs = queue.extended === true && typeof queue.consume === 'function'
    const opened = isOurs ? queue.consume!(handler, { handlesTimeouts: true, signal }) : this.#listen(queue, handler)
    const consumer = await opened.catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    if (!consumer) return
    if (signal.aborted) await consumer.stop({ graceMs: 0 })
    else this.#open.set(queue, consumer)
  }

  async #listen(queue: MessageQueue, handler: MessageHandler): Promise<Consumer> {
    const { clock, onFailure } = this.#listening
    const abort = new AbortController()
    const ended = queue.listen(handler, { signal: abort.signal })
    // A call that rejects right away, such as one with a wrong configuration, rejects start().
    await Promise.race([ended, new Promise<void>((resolve) => clock.soon(resolve))])
    ended.catch(onFailure)
    return {
      stop: async ({ graceMs = sharedOptions.graceMs.default } = {}) => {
        abort.abort()
        // Not for ever: a queue may not end.
        await atMost(clock, graceMs + engineDefaults.stopWritesMs, ended).catch(() => {})
      },
    }
  }
}
