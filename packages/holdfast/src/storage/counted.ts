// What many share: the first to connect opens it, the last one out closes it. All that a driver with a connection does for
// connect() and disconnect().

interface CountedOptions<T> {
  open(): Promise<T>
  close(opened: T): Promise<void> | void
  /** Before it is closed; who connects meanwhile finds it open. */
  idle?(opened: T): Promise<void>
  /** What lives in memory alone would be gone with its connection. */
  readonly staysOpen?: boolean
}

export class Counted<T> {
  readonly #options: CountedOptions<T>
  #users = 0
  #opening: Promise<T> | undefined
  #opened: T | undefined

  constructor(options: CountedOptions<T>) {
    this.#options = options
  }

  /** Undefined: nobody is connected. */
  get opened(): T | undefined {
    return this.#users > 0 || this.#options.staysOpen ? this.#opened : undefined
  }

  async connect(): Promise<void> {
    this.#users++
    const opening = (this.#opening ??= this.#options.open())
    try {
      this.#opened = await opening
    } catch (error) {
      // All who waited for it fail with it.
      if (this.#opening === opening) {
        this.#opening = undefined
        this.#users = 0
      }
      throw error
    }
  }

  /** A surplus one does nothing. */
  async disconnect(): Promise<void> {
    if (this.#users === 0) return
    this.#users--
    if (this.#users > 0) return
    const opening = this.#opening!
    const opened = await opening.catch(() => undefined)
    if (opened !== undefined) await this.#options.idle?.(opened)
    if (opened === undefined || this.#users > 0 || this.#opening !== opening || this.#options.staysOpen) return
    this.#opening = undefined
    this.#opened = undefined
    await this.#options.close(opened)
  }
}
