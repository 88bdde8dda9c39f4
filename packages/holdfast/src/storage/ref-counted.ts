// What many share: the first to connect opens it, the last one out closes it. All that a driver with a connection does for
// connect() and disconnect().

import { HoldfastError } from '../errors.ts'

interface RefCountedOptions<T> {
  /** For the message to those who did not connect: 'Redis', … */
  readonly name: string
  open(): Promise<T>
  close(opened: T): Promise<void> | void
  /** Before it is closed; who connects meanwhile finds it open. */
  idle?(opened: T): Promise<void>
  /** What lives in memory alone would be gone with its connection. */
  readonly staysOpen?: boolean
}

export class RefCounted<T> {
  readonly #options: RefCountedOptions<T>
  #users = 0
  #opening: Promise<T> | undefined
  #opened: T | undefined

  constructor(options: RefCountedOptions<T>) {
    this.#options = options
  }

  /** Undefined: nobody is connected. */
  get opened(): T | undefined {
    return this.#users > 0 || this.#options.staysOpen ? this.#opened : undefined
  }

  /** @throws STORAGE_CLOSED */
  use(): T {
    const { opened } = this
    if (opened !== undefined) return opened
    const message = `the ${this.#options.name} storage is not connected: call connect(), or start what uses it`
    throw new HoldfastError('STORAGE_CLOSED', message)
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

  async whileConnected(run: () => Promise<void>): Promise<void> {
    await this.connect()
    try {
      await run()
    } finally {
      await this.disconnect()
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
