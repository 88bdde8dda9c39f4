// One connection beside the pool, for what must not wait for the pool: opened on first use, kept, and opened again when it
// was lost. Statements go one after the other.

import { ask, type Bounds } from './bounded.ts'
import type { Connection, Row, Statement, Value } from './database.ts'
import { endsConnection, notConnected, postgresError } from './errors.ts'
import type { Wire, Wires } from './wire.ts'

export class KeptConnection implements Connection {
  readonly #wires: Wires
  readonly #bounds: Bounds
  #wire: Wire | undefined
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(wires: Wires, bounds: Bounds) {
    this.#wires = wires
    this.#bounds = bounds
  }

  query(statement: Statement, values: readonly Value[]): Promise<Row[]> {
    const answer = this.#last.then(() => this.#query(statement, values))
    this.#last = answer.catch(() => {})
    return answer
  }

  close(): void {
    this.#isClosed = true
    this.#wire?.discard()
  }

  async #query(statement: Statement, values: readonly Value[]): Promise<Row[]> {
    const wire = await this.#open()
    try {
      return (await ask(wire, statement, values, this.#bounds, true)).rows
    } catch (error) {
      if (endsConnection(error)) wire.discard()
      throw postgresError(error, true)
    }
  }

  async #open(): Promise<Wire> {
    if (this.#wire && !this.#wire.isLost) return this.#wire
    try {
      if (!this.#isClosed) this.#wire = await this.#wires.open()
      if (!this.#isClosed) return this.#wire!
      this.#wire?.discard()
      throw new Error('the storage is closed')
    } catch (error) {
      throw notConnected(this.#wires.where, error)
    }
  }
}
