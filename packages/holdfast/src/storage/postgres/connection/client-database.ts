// The database by way of any client library: calls and transactions on the pool's connections, bounded in time, with errors
// that say whether they may have happened.

import { atMost } from '../../../clock.ts'
import { ask, type Bounds, within } from './bounded.ts'
import type { Connection, Database, DatabaseOptions, Row, Statement, Value, OpenTransaction } from './database.ts'
import { endsConnection, notConnected, openError, postgresError, storageError } from './errors.ts'
import { joinedConnection } from './joined.ts'
import { KeptConnection } from './kept-connection.ts'
import { Listener } from './listener.ts'
import type { Answer, Wire, Wires } from './wire.ts'

const begin: Statement = { name: '', text: 'BEGIN ISOLATION LEVEL READ COMMITTED' }
const commit: Statement = { name: '', text: 'COMMIT' }
const rollback: Statement = { name: '', text: 'ROLLBACK' }
const nothing: Statement = { name: '', text: 'SELECT 1' }

export class ClientDatabase implements Database {
  readonly #wires: Wires
  readonly #options: DatabaseOptions
  readonly #bounds: Bounds
  readonly lockTimeoutMs: number
  readonly #limitLocks: Statement
  readonly #beginLimited: Statement
  readonly #reserved: KeptConnection
  readonly #listener: Listener
  #closing: Promise<void> | undefined

  constructor(wires: Wires, options: DatabaseOptions) {
    this.#wires = wires
    this.#options = options
    this.#bounds = options
    // Else a call that was given up would go on waiting for its lock, and take it. The server gives up before we do, which
    // saves the connection.
    this.lockTimeoutMs = Math.ceil(options.callTimeoutMs * 0.9)
    this.#limitLocks = { name: '', text: `SET LOCAL lock_timeout = ${this.lockTimeoutMs}` }
    // Two statements in one trip.
    this.#beginLimited = { name: '', text: `${begin.text}; ${this.#limitLocks.text}` }
    this.#reserved = new KeptConnection(wires, options)
    this.#listener = new Listener(wires, options)
  }

  get reserved(): Connection {
    return this.#reserved
  }

  /** Whether there is a database at all. */
  async open(): Promise<void> {
    try {
      await this.query(nothing, [])
    } catch (error) {
      await this.close()
      throw openError(this.#wires.where, error)
    }
  }

  async query(statement: Statement, values: readonly Value[]): Promise<Row[]> {
    const wire = await this.#acquire()
    try {
      const { rows } = await this.#ask(wire, statement, values, true)
      wire.release()
      return rows
    } catch (error) {
      if (endsConnection(error)) wire.discard()
      else wire.release()
      throw postgresError(error, true)
    }
  }

  async transaction<T>(
    run: (connection: OpenTransaction) => Promise<T>,
    { limitsLocks = false }: { readonly limitsLocks?: boolean } = {},
  ): Promise<T> {
    const wire = await this.#acquire()
    let isOver = false
    // Its answer is waited for with that of the first statement, where both can be sent in one trip.
    const begun = this.#inside(wire, limitsLocks ? begin : this.#beginLimited, [])
    let last: Promise<unknown> = begun.catch(() => {})
    const connection: OpenTransaction = {
      client: wire.client,
      query: async (statement, values) => {
        if (isOver) throw storageError('the transaction is over', { transient: false, maybeApplied: false })
        const send = (): Promise<Row[]> => this.#inside(wire, statement, values)
        const answer = wire.pipelines ? send() : last.then(send)
        last = answer.catch(() => {})
        await begun
        return await answer
      },
      limitLocks: () => {
        // If it fails, so does all that follows.
        last = this.#inside(wire, this.#limitLocks, []).catch(() => {})
      },
    }
    let result: T
    try {
      if (!wire.pipelines) await begun
      result = await run(connection)
      await begun
      await last
    } catch (error) {
      isOver = true
      await this.#rollback(wire)
      throw error
    }
    isOver = true
    await this.#commit(wire)
    return result
  }

  joined(tx: unknown): Connection {
    return joinedConnection(tx, this.#options)
  }

  listen(channel: string, onMessage: (payload: string) => void, onGap: () => void): Promise<() => Promise<void>> {
    return this.#listener.listen({ channel, onMessage, onGap })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#listener.close()
    this.#reserved.close()
    // Calls under way are waited for; those that hang end by their own time.
    await atMost(this.#options.clock, this.#options.callTimeoutMs, this.#wires.close())
  }

  async #acquire(): Promise<Wire> {
    const wire = this.#wires.acquire()
    const { callTimeoutMs } = this.#options
    try {
      return await within(this.#bounds, wire, () => {
        wire.then((late) => late.release()).catch(() => {})
        return new Error(`none became free within ${callTimeoutMs} ms`)
      })
    } catch (error) {
      throw notConnected(this.#wires.where, error)
    }
  }

  #ask(wire: Wire, statement: Statement, values: readonly Value[], mayCommit: boolean): Promise<Answer> {
    return ask(wire, statement, values, this.#bounds, mayCommit)
  }

  /** Of a statement in a transaction: until COMMIT is sent, nothing has happened. */
  async #inside(wire: Wire, statement: Statement, values: readonly Value[]): Promise<Row[]> {
    try {
      if (wire.isLost) throw new Error('the connection was lost')
      return (await this.#ask(wire, statement, values, false)).rows
    } catch (error) {
      if (endsConnection(error)) wire.discard()
      throw postgresError(error, false)
    }
  }

  async #commit(wire: Wire): Promise<void> {
    if (wire.isLost) {
      wire.discard()
      throw postgresError(new Error('the connection was lost'), false)
    }
    let answer: Answer
    try {
      answer = await this.#ask(wire, commit, [], true)
    } catch (error) {
      if (endsConnection(error)) wire.discard()
      else wire.release()
      throw postgresError(error, true)
    }
    wire.release()
    // So the server answers a COMMIT after an error that nobody told: it has undone all.
    if (answer.command === 'ROLLBACK') {
      throw storageError('Postgres: the transaction had failed, and was rolled back', {
        transient: false,
        maybeApplied: false,
      })
    }
  }

  async #rollback(wire: Wire): Promise<void> {
    if (wire.isLost) return wire.discard()
    try {
      await this.#ask(wire, rollback, [], false)
      wire.release()
    } catch {
      // Its end undoes the transaction as well. What went wrong before is what the caller must hear.
      wire.discard()
    }
  }
}
