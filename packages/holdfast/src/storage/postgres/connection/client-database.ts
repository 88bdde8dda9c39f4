// The Database interface over any client library: calls and transactions on the pool's connections, each with a timeout, with
// errors that say whether the call may have been applied.

import { atMost } from '../../../clock.ts'
import { type CallTimeout, queryWithTimeout, withTimeout } from './call-timeout.ts'
import type { Connector, RawConnection, StatementResult } from './connector.ts'
import type {
  Connection,
  Database,
  DatabaseOptions,
  OpenTransaction,
  Row,
  Statement,
  TransactionOptions,
  Value,
} from './database.ts'
import { connectionLost, endsConnection, notConnected, openError, postgresError, storageError } from './errors.ts'
import { type JoinedConnection, joinedConnection } from './joined-connection.ts'
import { transactionEnded } from './transaction-ended.ts'
import { Listener } from './listener.ts'
import { ReservedConnection } from './reserved-connection.ts'

const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED'
/** A scan that cannot be avoided, of a small table, then has a cost that would make the server compile the statement each time. */
const useIndexes = 'SET LOCAL enable_seqscan = off; SET LOCAL jit = off'
const commit: Statement = { name: '', text: 'COMMIT' }
const rollback: Statement = { name: '', text: 'ROLLBACK' }
const ping: Statement = { name: '', text: 'SELECT 1' }

export class ClientDatabase implements Database {
  readonly #connector: Connector
  readonly #options: DatabaseOptions
  readonly #timeout: CallTimeout
  readonly lockTimeoutMs: number
  readonly #limitLocks: Statement
  readonly #reserved: ReservedConnection
  readonly #listener: Listener
  #closing: Promise<void> | undefined

  constructor(connector: Connector, options: DatabaseOptions) {
    this.#connector = connector
    this.#options = options
    this.#timeout = options
    // Without a lock timeout, a call that timed out here would go on waiting for its lock on the server, and take it. The
    // server's limit is the shorter one, so that the connection survives.
    this.lockTimeoutMs = Math.ceil(options.callTimeoutMs * 0.9)
    this.#limitLocks = { name: '', text: `SET LOCAL lock_timeout = ${this.lockTimeoutMs}` }
    this.#reserved = new ReservedConnection(connector, options)
    this.#listener = new Listener(connector, options)
  }

  get losses(): number {
    return this.#connector.losses
  }

  get reserved(): Connection {
    return this.#reserved
  }

  /** Checks that the database answers. */
  async open(): Promise<void> {
    try {
      await this.query(ping, [])
    } catch (error) {
      await this.close()
      throw openError(this.#connector.where, error)
    }
  }

  async query(statement: Statement, values: readonly Value[]): Promise<Row[]> {
    const connection = await this.#acquire()
    try {
      const { rows } = await this.#query(connection, statement, values, true)
      connection.release()
      return rows
    } catch (error) {
      if (endsConnection(error)) connection.discard()
      else connection.release()
      throw postgresError(error, true)
    }
  }

  async transaction<T>(
    run: (transaction: OpenTransaction) => Promise<T>,
    { limitsLocks = false, usesIndexes = false }: TransactionOptions = {},
  ): Promise<T> {
    const connection = await this.#acquire()
    let isOver = false
    const sent: Promise<unknown>[] = []
    // On a connection that pipelines, BEGIN and the first statement leave in one round trip: BEGIN is awaited with it.
    // All of it in one round trip.
    const settings = [...(limitsLocks ? [] : [this.#limitLocks.text]), ...(usesIndexes ? [useIndexes] : [])]
    const begun = this.#queryInside(connection, { name: '', text: [begin, ...settings].join('; ') }, [])
    let last: Promise<unknown> = begun.catch(() => {})
    const transaction: OpenTransaction = {
      client: connection.client,
      query: async (statement, values) => {
        if (isOver) throw transactionEnded()
        const send = (): Promise<Row[]> => this.#queryInside(connection, statement, values)
        const answer = connection.pipelines ? send() : last.then(send)
        last = answer.catch(() => {})
        await begun
        return await answer
      },
      limitLocks: () => {
        // If it fails, the transaction has failed, and every later statement rejects.
        last = this.#queryInside(connection, this.#limitLocks, []).catch(() => {})
      },
      send: (statement, values) => {
        const answer = transaction.query(statement, values)
        // It is awaited at the end.
        answer.catch(() => {})
        sent.push(answer)
      },
    }
    let result: T
    try {
      if (!connection.pipelines) await begun
      result = await run(transaction)
      await begun
      if (sent.length === 0 || !connection.pipelines) {
        await last
        await Promise.all(sent)
      }
    } catch (error) {
      isOver = true
      await this.#rollback(connection)
      throw error
    }
    isOver = true
    const committing = this.#commit(connection)
    committing.catch(() => {})
    // If one of them failed, the server has rolled back. On a lost connection that is not known, and #commit() says so.
    const failure = await firstFailure(sent)
    const isCommitted = await committing
    if (failure) throw failure.error
    if (!isCommitted) throw rolledBack()
    return result
  }

  joined(tx: unknown): JoinedConnection {
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
    // Waits for calls in progress; a call that hangs ends by its own timeout.
    await atMost(this.#options.clock, this.#options.callTimeoutMs, this.#connector.close())
  }

  async #acquire(): Promise<RawConnection> {
    const acquiring = this.#connector.acquire()
    const { callTimeoutMs } = this.#options
    try {
      return await withTimeout(this.#timeout, acquiring, () => {
        acquiring.then((late) => late.release()).catch(() => {})
        return new Error(`no connection of the pool became free within ${callTimeoutMs} ms (callTimeoutMs)`)
      })
    } catch (error) {
      throw notConnected(this.#connector.where, error)
    }
  }

  #query(
    connection: RawConnection,
    statement: Statement,
    values: readonly Value[],
    mayCommit: boolean,
  ): Promise<StatementResult> {
    return queryWithTimeout(connection, statement, values, this.#timeout, mayCommit)
  }

  /** A statement inside a transaction. Until COMMIT is sent, an error means that nothing was applied. */
  async #queryInside(connection: RawConnection, statement: Statement, values: readonly Value[]): Promise<Row[]> {
    try {
      if (connection.isLost) throw connectionLost()
      return (await this.#query(connection, statement, values, false)).rows
    } catch (error) {
      if (endsConnection(error)) connection.discard()
      throw postgresError(error, false)
    }
  }

  /** @returns false if the server has rolled back */
  async #commit(connection: RawConnection): Promise<boolean> {
    if (connection.isLost) {
      connection.discard()
      throw postgresError(connectionLost(), false)
    }
    let answer: StatementResult
    try {
      answer = await this.#query(connection, commit, [], true)
    } catch (error) {
      if (endsConnection(error)) connection.discard()
      else connection.release()
      throw postgresError(error, true)
    }
    connection.release()
    // The server answers COMMIT with ROLLBACK when a statement had failed.
    return answer.command !== 'ROLLBACK'
  }

  async #rollback(connection: RawConnection): Promise<void> {
    if (connection.isLost) return connection.discard()
    try {
      await this.#query(connection, rollback, [], false)
      connection.release()
    } catch {
      // Closing the connection rolls back as well. The caller gets the error that came first.
      connection.discard()
    }
  }
}

/** Waits for all of them. */
async function firstFailure(answers: readonly Promise<unknown>[]): Promise<{ readonly error: unknown } | undefined> {
  for (const settled of await Promise.allSettled(answers)) {
    if (settled.status === 'rejected') return { error: settled.reason }
  }
  return undefined
}

const rolledBack = (): Error =>
  storageError('Postgres: the transaction was rolled back at COMMIT, because one of its statements had failed.', {
    transient: false,
    maybeApplied: false,
  })
