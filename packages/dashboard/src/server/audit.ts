// One line in the logger for each write and each refusal: who, what, to what, how many. A logger that throws is ignored.

import type { Logger } from 'holdfast'

export class Audit {
  readonly #logger: Logger | undefined

  constructor(logger: Logger | undefined) {
    this.#logger = logger
  }

  wrote(actor: string, what: string, data: Readonly<Record<string, unknown>>): void {
    this.#line('info', { actor, ...data }, `dashboard: ${actor} ${what}`)
  }

  refused(data: Readonly<Record<string, unknown>>, why: string): void {
    this.#line('warn', data, `dashboard: refused: ${why}`)
  }

  failed(error: unknown): void {
    this.#line('error', { err: error }, 'dashboard: a request failed')
  }

  #line(level: 'info' | 'warn' | 'error', data: object, message: string): void {
    try {
      this.#logger?.[level]?.(data, message)
    } catch {
      // There is no place left to report it.
    }
  }
}
