// One line in the logger for each write and each refusal: who, what, to what, how many. A logger that throws is ignored. The admin handle
// keeps writes in the audit log of the storage; refusals are put there too, but only some: a stranger must not be able to fill the storage.

import type { Admin, Clock, Logger } from 'holdfast'

/** Refusals that are stored per minute. */
const mostRefusals = 10

interface AuditOptions {
  readonly logger: Logger | undefined
  readonly clock: Pick<Clock, 'monotonic'>
  readonly admin: Pick<Admin, 'audit'>
}

export class Audit {
  readonly #options: AuditOptions
  #stored = 0
  #minute = 0

  constructor(options: AuditOptions) {
    this.#options = options
  }

  wrote(actor: string, what: string, data: Readonly<Record<string, unknown>>): void {
    this.#line('info', { actor, ...data }, `dashboard: ${actor} ${what}`)
  }

  /** @param data.actor undefined: nobody was recognised */
  refused(
    data: { readonly actor: string | undefined; readonly code: string; readonly method: string; readonly path: string },
    why: string,
  ): void {
    this.#line('warn', data, `dashboard: refused: ${why}`)
    const { actor, method, path } = data
    const { clock, admin } = this.#options
    const minute = Math.floor(clock.monotonic() / 60_000)
    if (minute !== this.#minute) [this.#minute, this.#stored] = [minute, 0]
    if (this.#stored++ >= mostRefusals) return
    void admin.audit.record({ by: actor ?? 'unknown', what: `${method} ${path}: ${why}`, refused: true })
  }

  failed(error: unknown): void {
    this.#line('error', { err: error }, 'dashboard: a request failed')
  }

  #line(level: 'info' | 'warn' | 'error', data: object, message: string): void {
    try {
      this.#options.logger?.[level]?.(data, message)
    } catch {
      // There is no place left to report it.
    }
  }
}
