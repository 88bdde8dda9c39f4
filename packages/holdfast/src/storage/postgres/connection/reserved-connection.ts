// One connection outside the pool, for calls that must not wait for the pool, such as heartbeats. It is opened on first use
// and reopened after a loss. Statements run one at a time.

import { type CallTimeout, queryWithTimeout } from './call-timeout.ts'
import type { Connector, RawConnection } from './connector.ts'
import type { Connection, Row, Statement, Value } from './database.ts'
import { endsConnection, notConnected, postgresError } from './errors.ts'

export class ReservedConnection implements Connection {
  readonly #connector: Connector
  readonly #timeout: CallTimeout
  #connection: RawConnection | undefined
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(connector: Connector, timeout: CallTimeout) {
    this.#connector = connector
    this.#timeout = timeout
  }

  query(statement: Statement, values: readonly Value[]): Promise<Row[]> {
    const answer = this.#last.then(() => this.#query(statement, values))
    this.#last = answer.catch(() => {})
    return answer
  }

  close(): void {
    this.#isClosed = true
    this.#connection?.discard()
  }

  async #query(statement: Statement, values: readonly Value[]): Promise<Row[]> {
    const connection = await this.#open()
    try {
      return (await queryWithTimeout(connection, statement, values, this.#timeout, true)).rows
    } catch (error) {
      if (endsConnection(error)) connection.discard()
      throw postgresError(error, true)
    }
  }

  async #open(): Promise<RawConnection> {
    if (this.#connection && !this.#connection.isLost) return this.#connection
    try {
      if (!this.#isClosed) this.#connection = await this.#connector.open()
      if (!this.#isClosed) return this.#connection!
      this.#connection?.discard()
      throw new Error('the storage is closed')
    } catch (error) {
      throw notConnected(this.#connector.where, error)
    }
  }
}
