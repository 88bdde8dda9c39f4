// Statements in a transaction that the app has open on a client of pg. The client sends a statement once those before it are answered: a
// ROLLBACK may be one of them. Behind it, the statement would commit by itself, or in the next transaction of a pooled connection.
//
// Invariant: no statement is sent after the server has said that the transaction is over.

import type { PgClient } from './client.ts'
import { transactionEnded } from './transaction-ended.ts'

/** What the client calls when it is the turn of a query. Documented: pg-cursor and pg-query-stream are such objects. */
interface PgQuery {
  callback: (error: unknown, answer: unknown) => void
  submit(connection: unknown): unknown
}

type NewQuery = new (config: object) => PgQuery

interface PgConnection {
  prependListener(event: 'readyForQuery', listener: (message: { readonly status?: string }) => void): unknown
}

/** By connection: how often the server has said that no transaction is open. */
const idleAnswers = new WeakMap<PgConnection, { count: number }>()

/** Sends a query of pg, unless the transaction is over when its turn comes. */
export type SendInside = (config: object) => Promise<unknown>

/** Undefined: the client does not say when it sends a statement, as one that pipelines, or the native one. */
export function insideTransaction(client: PgClient): SendInside | undefined {
  const { connection, pipeline } = client as { connection?: PgConnection; pipeline?: boolean }
  const { Query } = client.constructor as { Query?: NewQuery }
  if (pipeline === true || typeof connection?.prependListener !== 'function' || !Query) return undefined
  const answers = idleAnswersOf(connection)
  const before = answers.count
  return (config) =>
    new Promise((resolve, reject) => {
      const query = new Query(config)
      const { submit } = query
      query.callback = (error, answer) => (error ? reject(error as Error) : resolve(answer))
      query.submit = (to) => (answers.count === before ? submit.call(query, to) : transactionEnded())
      client.query(query)
    })
}

/** The listener stays as long as the connection: a pooled one has many transactions. */
function idleAnswersOf(connection: PgConnection): { readonly count: number } {
  const known = idleAnswers.get(connection)
  if (known) return known
  const answers = { count: 0 }
  // Before the client's own listener, which sends the next query.
  connection.prependListener('readyForQuery', ({ status }) => void (status === 'I' && answers.count++))
  idleAnswers.set(connection, answers)
  return answers
}
