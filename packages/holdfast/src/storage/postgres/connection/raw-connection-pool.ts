// A connection pool for postgres.js, whose own pool cannot be used here. It opens at most `poolSize` connections, lends the most
// recently used one first, and closes a connection that was idle for `idleMs`.

import type { Clock, Timer } from '../../../clock.ts'
import type { RawConnection } from './connector.ts'

interface RawConnectionPoolOptions {
  readonly poolSize: number
  readonly clock: Clock
}

interface Idle {
  readonly connection: RawConnection
  readonly timer: Timer
}

/** How long an idle connection stays open, in ms. */
const idleMs = 10_000

export class RawConnectionPool {
  readonly #open: () => Promise<RawConnection>
  readonly #options: RawConnectionPoolOptions
  readonly #idle: Idle[] = []
  readonly #waiting: PromiseWithResolvers<RawConnection>[] = []
  /** Connections that are open or being opened. */
  #count = 0
  #isClosed = false

  constructor(open: () => Promise<RawConnection>, options: RawConnectionPoolOptions) {
    this.#open = open
    this.#options = options
  }

  /** A caller that stops waiting must release the connection when it arrives. */
  acquire(): Promise<RawConnection> {
    if (this.#isClosed) return Promise.reject(new Error('the storage is closed'))
    const waiting = Promise.withResolvers<RawConnection>()
    this.#waiting.push(waiting)
    this.#serve()
    return waiting.promise
  }

  close(): void {
    this.#isClosed = true
    for (const { connection, timer } of this.#idle.splice(0)) {
      timer.cancel()
      connection.release()
    }
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('the storage is closed'))
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const idle = this.#idle.pop()
      if (idle) {
        idle.timer.cancel()
        if (idle.connection.isLost) this.#count--
        else this.#waiting.shift()!.resolve(this.#lend(idle.connection))
      } else if (this.#count < this.#options.poolSize) {
        this.#count++
        void this.#openFor(this.#waiting.shift()!)
      } else return
    }
  }

  async #openFor({ resolve, reject }: PromiseWithResolvers<RawConnection>): Promise<void> {
    try {
      resolve(this.#lend(await this.#open()))
    } catch (error) {
      reject(error)
      this.#onGone()
    }
  }

  /** The connection as a borrower sees it: the first release or discard ends the loan, later ones do nothing. */
  #lend(connection: RawConnection): RawConnection {
    let isReturned = false
    const once = (then: () => void) => (): void => {
      if (isReturned) return
      isReturned = true
      then()
    }
    return {
      client: connection.client,
      query: (statement, values) => connection.query(statement, values),
      pipelines: connection.pipelines,
      get isLost() {
        return connection.isLost
      },
      release: once(() => this.#takeBack(connection)),
      discard: once(() => {
        connection.discard()
        this.#onGone()
      }),
    }
  }

  #takeBack(connection: RawConnection): void {
    if (connection.isLost || this.#isClosed) {
      if (!connection.isLost) connection.release()
      return this.#onGone()
    }
    const timer = this.#options.clock.after(idleMs, () => this.#closeIdle(connection), { keepsAlive: false })
    this.#idle.push({ connection, timer })
    this.#serve()
  }

  #closeIdle(connection: RawConnection): void {
    const index = this.#idle.findIndex((idle) => idle.connection === connection)
    if (index === -1) return
    this.#idle.splice(index, 1)
    connection.release()
    this.#onGone()
  }

  #onGone(): void {
    this.#count--
    this.#serve()
  }
}
