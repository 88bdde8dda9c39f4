// A transaction that the caller has open, as a Connection. This file never begins, ends or closes it.

import { invalidArgument } from '../../../errors.ts'
import { type CallTimeout, timeoutError, withTimeout } from './call-timeout.ts'
import { hasMethods, isPgClient, isTransactionSql, type PgClient } from './client.ts'
import type { Connection, Row, Statement, Value } from './database.ts'
import { postgresError } from './errors.ts'
import { queryPg } from './pg-connector.ts'
import { insideTransaction, type SendInside } from './pg-transaction-end.ts'
import { queryPostgresJs } from './postgres-js-connector.ts'
import { saysEnded, transactionEnded } from './transaction-ended.ts'

/** Runs a statement inside an open transaction. Rows are arrays, or objects with the columns c0, c1, … */
export interface TxAdapter {
  query(text: string, values: (string | null)[]): Promise<readonly unknown[]>
}

/** A transaction that the app has open, and may end at any time. */
export interface JoinedConnection extends Connection {
  /** No statement is sent once the transaction has ended. Otherwise only the server can tell, and the statements must ask it. */
  readonly refusesLate: boolean
  /** Statements may be sent before those before them are answered. */
  readonly pipelines: boolean
}

interface JoinedOptions extends CallTimeout {
  readonly prepare: boolean
}

/** @throws TypeError INVALID_ARGUMENT */
export function joinedConnection(tx: unknown, options: JoinedOptions): JoinedConnection {
  const send = isPgClient(tx) ? insideTransaction(tx) : undefined
  const run = runnerOf(tx, options.prepare, send)
  return {
    refusesLate: send !== undefined,
    pipelines: isTransactionSql(tx),
    async query(statement, values) {
      try {
        // The connection belongs to the caller: it is not discarded after a timeout.
        return await withTimeout(options, run(statement, values), () => timeoutError(options, false))
      } catch (error) {
        throw saysEnded(error) ? transactionEnded(error) : postgresError(error, false)
      }
    },
  }
}

type Runner = (statement: Statement, values: readonly Value[]) => Promise<Row[]>

function runnerOf(tx: unknown, prepare: boolean, send: SendInside | undefined): Runner {
  if (isTransactionSql(tx)) {
    return async (statement, values) => (await queryPostgresJs(tx, statement, values, prepare)).rows
  }
  if (isPgClient(tx)) {
    checkStatus(tx)
    return (statement, values) => queryQuietly(tx, statement, values, prepare, send)
  }
  if (isAdapter(tx)) {
    return async ({ text }, values) => {
      const rows = await tx.query(
        text,
        values.map((value) => (value === null ? null : String(value))),
      )
      return rows.map(textsOf)
    }
  }
  const expected =
    'a client of pg in a transaction, the sql of postgres.js’s begin(), or drizzleTx(tx), kyselyTx(trx) or prismaTx(tx)'
  throw invalidArgument('tx', expected, tx)
}

/** Newer versions of pg know whether a transaction is open. Without one, each statement would commit by itself. */
function checkStatus(tx: PgClient): void {
  const { getTransactionStatus } = tx as { getTransactionStatus?: () => unknown }
  if (getTransactionStatus?.call(tx) === 'I') {
    throw invalidArgument('tx', 'a client of pg in a transaction (BEGIN comes first)', tx)
  }
}

const ignoreError = (): void => {}

async function queryQuietly(
  tx: PgClient,
  statement: Statement,
  values: readonly Value[],
  prepare: boolean,
  send: SendInside | undefined,
): Promise<Row[]> {
  // pg reports a lost connection twice: it rejects the query, and emits `error`, which without a listener ends the process.
  tx.on('error', ignoreError)
  try {
    return (await queryPg(tx, statement, values, prepare, send)).rows
  } finally {
    tx.removeListener('error', ignoreError)
  }
}

/** A pool has query(), too, but also connect(). */
const isAdapter = (tx: unknown): tx is TxAdapter =>
  typeof tx === 'object' && hasMethods(tx, 'query') && !hasMethods(tx, 'connect')

function textsOf(row: unknown): Row {
  if (row === null || typeof row !== 'object') {
    throw new TypeError(`tx: the adapter's query() returned a row that is neither an array nor an object`)
  }
  const values: unknown[] = Array.isArray(row)
    ? row
    : Array.from({ length: Object.keys(row).length }, (_, index) => (row as Record<string, unknown>)[`c${index}`])
  return values.map((value) => (value === null || value === undefined ? null : String(value)))
}
