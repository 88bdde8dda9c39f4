// A pool of connections, for a library that has none we can use: no more than so many, the latest used first, and those that
// nobody has used for a while are closed.

import type { Clock, Timer } from '../../../clock.ts'
import type { Wire } from './wire.ts'

interface WirePoolOptions {
  readonly poolSize: number
  readonly clock: Clock
}

interface Idle {
  readonly wire: Wire
  readonly timer: Timer
}

/** How long an idle connection stays open, in ms. */
const idleMs = 10_000

export class WirePool {
  readonly #open: () => Promise<Wire>
  readonly #options: WirePoolOptions
  readonly #idle: Idle[] = []
  readonly #waiting: PromiseWithResolvers<Wire>[] = []
  /** Open or being opened. */
  #count = 0
  #isClosed = false

  constructor(open: () => Promise<Wire>, options: WirePoolOptions) {
    this.#open = open
    this.#options = options
  }

  /** Whoever no longer waits for it gives it back when it comes. */
  acquire(): Promise<Wire> {
    if (this.#isClosed) return Promise.reject(new Error('the storage is closed'))
    const waiting = Promise.withResolvers<Wire>()
    this.#waiting.push(waiting)
    this.#serve()
    return waiting.promise
  }

  close(): void {
    this.#isClosed = true
    for (const { wire, timer } of this.#idle.splice(0)) {
      timer.cancel()
      wire.release()
    }
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('the storage is closed'))
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const idle = this.#idle.pop()
      if (idle) {
        idle.timer.cancel()
        if (idle.wire.isLost) this.#count--
        else this.#waiting.shift()!.resolve(this.#lent(idle.wire))
      } else if (this.#count < this.#options.poolSize) {
        this.#count++
        void this.#openFor(this.#waiting.shift()!)
      } else return
    }
  }

  async #openFor({ resolve, reject }: PromiseWithResolvers<Wire>): Promise<void> {
    try {
      resolve(this.#lent(await this.#open()))
    } catch (error) {
      reject(error)
      this.#gone()
    }
  }

  #lent(wire: Wire): Wire {
    let isBack = false
    const once = (then: () => void) => (): void => {
      if (isBack) return
      isBack = true
      then()
    }
    return {
      client: wire.client,
      query: (statement, values) => wire.query(statement, values),
      pipelines: wire.pipelines,
      get isLost() {
        return wire.isLost
      },
      release: once(() => this.#takeBack(wire)),
      discard: once(() => {
        wire.discard()
        this.#gone()
      }),
    }
  }

  #takeBack(wire: Wire): void {
    if (wire.isLost || this.#isClosed) {
      if (!wire.isLost) wire.release()
      return this.#gone()
    }
    const timer = this.#options.clock.after(idleMs, () => this.#close(wire), { keepsAlive: false })
    this.#idle.push({ wire, timer })
    this.#serve()
  }

  #close(wire: Wire): void {
    const index = this.#idle.findIndex((idle) => idle.wire === wire)
    if (index === -1) return
    this.#idle.splice(index, 1)
    wire.release()
    this.#gone()
  }

  #gone(): void {
    this.#count--
    this.#serve()
  }
}
