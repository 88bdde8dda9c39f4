// Handlers that go on although their attempt timed out and their signal aborted. Nothing can end them: their results are dropped, and
// they still use the process. So they are counted, and each is an event.

import type { Clock, Timer } from '../../clock.ts'
import { engineDefaults } from '../defaults.ts'
import type { PublishEvent } from '../events.ts'
import type { Attempt } from './attempt.ts'

export class AbandonedHandlers {
  readonly #clock: Clock
  readonly #publishEvent: PublishEvent
  readonly #timers = new Set<Timer>()
  #size = 0

  constructor({ clock, publishEvent }: { readonly clock: Clock; readonly publishEvent: PublishEvent }) {
    this.#clock = clock
    this.#publishEvent = publishEvent
  }

  /** Handlers that still run. */
  get size(): number {
    return this.#size
  }

  /** Counts the handler of an attempt that timed out, unless it ends soon after its signal aborted. */
  watch({ job, counted }: Attempt, handler: Promise<unknown>): void {
    let isAbandoned = false
    const abandon = (): void => {
      this.#timers.delete(timer)
      isAbandoned = true
      this.#size++
      this.#publishEvent({ name: 'handler_abandoned', type: job.type, id: job.id, attempt: counted })
    }
    const timer = this.#clock.after(engineDefaults.afterAbortMs, abandon, { keepsAlive: false })
    this.#timers.add(timer)
    const onEnd = (): void => {
      timer.cancel()
      this.#timers.delete(timer)
      if (isAbandoned) this.#size--
    }
    handler.then(onEnd, onEnd)
  }

  stop(): void {
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }
}
