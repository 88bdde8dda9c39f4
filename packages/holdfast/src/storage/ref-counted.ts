// A reference-counted resource, for connect() and disconnect() of a driver: the first user opens it, the last one closes it.

import { HoldfastError } from '../errors.ts'

interface RefCountedOptions<T> {
  /** Name of the driver for messages: 'Redis', … */
  readonly name: string
  open(): Promise<T>
  close(opened: T): Promise<void> | void
  /** Runs before the close. A connect() meanwhile keeps the resource open. */
  idle?(opened: T): Promise<void>
  /** Never closed: a database in memory would be lost with its connection. */
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

  /** Undefined while no user is connected. */
  get opened(): T | undefined {
    return this.#users > 0 || this.#options.staysOpen ? this.#opened : undefined
  }

  /** @throws HoldfastError STORAGE_CLOSED */
  use(): T {
    const { opened } = this
    if (opened !== undefined) return opened
    const message = `${this.#options.name}: not connected. Call connect(), or start the queue or worker that uses the storage.`
    throw new HoldfastError('STORAGE_CLOSED', message)
  }

  async connect(): Promise<void> {
    this.#users++
    const opening = (this.#opening ??= this.#options.open())
    try {
      this.#opened = await opening
    } catch (error) {
      // Every connect() that shared this attempt fails with it, so none of them counts.
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

  /** Does nothing without a user. */
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
