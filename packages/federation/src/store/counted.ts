// What several share: the first to connect opens it, the last one out closes it.

export class Counted {
  readonly #open: () => Promise<void>
  readonly #close: () => Promise<void>
  #users = 0
  /** Opening and closing, one after the other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(open: () => Promise<void>, close: () => Promise<void>) {
    this.#open = open
    this.#close = close
  }

  get isOpen(): boolean {
    return this.#users > 0
  }

  connect(): Promise<void> {
    return this.#next(async () => {
      if (this.#users === 0) await this.#open()
      this.#users++
    })
  }

  /** A surplus one does nothing. */
  disconnect(): Promise<void> {
    return this.#next(async () => {
      if (this.#users === 0) return
      this.#users--
      if (this.#users === 0) await this.#close()
    })
  }

  #next(run: () => Promise<void>): Promise<void> {
    const done = this.#last.then(run)
    this.#last = done.catch(() => {})
    return done
  }
}
