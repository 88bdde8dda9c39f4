// One line in the logger for each write and each refusal: who, what, to what, how many. A logger that throws is ignored. The admin handle
// keeps writes in the audit log of the storage; refusals are put there too, but only some: a stranger must not be able to fill the storage.

import type { Admin, Clock, Logger } from 'holdfast'

/** Refusals that are stored per minute: of strangers together, and of each person that authorize() names. */
const mostRefusals = 10
/** Persons whose refusals are counted at a time. */
const mostActors = 1_000

interface AuditOptions {
  readonly logger: Logger | undefined
  readonly clock: Pick<Clock, 'monotonic'>
  readonly admin: Pick<Admin, 'audit'>
}

export class Audit {
  readonly #options: AuditOptions
  /** In this minute, by person. */
  readonly #stored = new Map<string | undefined, number>()
  #minute = 0

  constructor(options: AuditOptions) {
    this.#options = options
  }

  wrote(actor: string, what: string, data: Readonly<Record<string, unknown>>): void {
    this.#line('info', { actor, ...data }, `dashboard: ${actor} ${what}`)
  }

  /** @param data.actor undefined: a stranger */
  refused(
    data: { readonly actor: string | undefined; readonly code: string; readonly method: string; readonly path: string },
    why: string,
  ): void {
    this.#line('warn', data, `dashboard: refused: ${why}`)
    const { actor, method, path } = data
    if (!this.#isStored(actor)) return
    const what = `${method} ${path}: ${why}`
    void this.#options.admin.audit.record({ by: actor ?? 'unknown', what, refused: true })
  }

  /** Strangers have a count of their own: their requests do not hide what a known person tried. */
  #isStored(actor: string | undefined): boolean {
    const minute = Math.floor(this.#options.clock.monotonic() / 60_000)
    if (minute !== this.#minute) this.#stored.clear()
    this.#minute = minute
    const count = this.#stored.get(actor) ?? 0
    if (count >= mostRefusals || this.#stored.size >= mostActors) return false
    this.#stored.set(actor, count + 1)
    return true
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
