// Whether the storage answers.

import type { Clock } from '../clock.ts'
import { isHoldfastError } from '../errors.ts'
import type { PublishEvent } from './events.ts'

/** Publishes `connection_lost` with the first call that is not answered, and `connection_restored` with the next that is. */
export class Availability {
  readonly #driver: string
  readonly #clock: Clock
  readonly #publishEvent: PublishEvent
  #lostAt: number | undefined
  /** When the first of the calls without an answer was sent. */
  #unansweredSince = 0

  constructor(driver: string, clock: Clock, publishEvent: PublishEvent) {
    this.#driver = driver
    this.#clock = clock
    this.#publishEvent = publishEvent
  }

  get unansweredMs(): number {
    return this.#lostAt === undefined ? 0 : this.#clock.monotonic() - this.#unansweredSince
  }

  answered(): void {
    if (this.#lostAt === undefined) return
    const ms = this.#clock.monotonic() - this.#lostAt
    this.#lostAt = undefined
    this.#publishEvent({ name: 'connection_restored', driver: this.#driver, ms })
  }

  failed(failure: unknown, sentAt: number): void {
    if (this.#lostAt !== undefined || !isUnavailable(failure)) return
    this.#unansweredSince = sentAt
    this.#lostAt = this.#clock.monotonic()
    this.#publishEvent({ name: 'connection_lost', driver: this.#driver, error: failure as Error })
  }
}

/** The storage gave no answer, or a transient failure: another call at once would fail too. */
export function isUnavailable(error: unknown): boolean {
  if (!isHoldfastError(error, 'STORAGE_ERROR')) return false
  const { cause } = error
  return cause === undefined || (cause as { transient?: unknown } | null)?.transient === true
}
