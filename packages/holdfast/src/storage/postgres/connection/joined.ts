// A transaction that the caller has open, as a connection. Nothing here begins, ends or closes it.

import { invalidArgument } from '../../../errors.ts'
import { type Bounds, tooLate, within } from './bounded.ts'
import { hasMethods, isPgClient, isTransactionSql, type PgClient } from './client.ts'
import type { Connection, Row, Statement, Value } from './database.ts'
import { postgresError } from './errors.ts'
import { askPg } from './pg-wires.ts'
import { askPostgresJs } from './postgres-js-wires.ts'

/** Any way to run a statement inside an open transaction: rows as arrays, or as objects with the columns c0, c1, … */
export interface TxAdapter {
  query(text: string, values: (string | null)[]): Promise<readonly unknown[]>
}

interface JoinedOptions extends Bounds {
  readonly prepare: boolean
}

/** @throws TypeError INVALID_ARGUMENT */
export function joinedConnection(tx: unknown, options: JoinedOptions): Connection {
  const run = runnerOf(tx, options.prepare)
  return {
    async query(statement, values) {
      try {
        // The connection is the caller's: what becomes of it, too.
        return await within(options, run(statement, values), () => tooLate(options, false))
      } catch (error) {
        throw postgresError(error, false)
      }
    },
  }
}

type Runner = (statement: Statement, values: readonly Value[]) => Promise<Row[]>

function runnerOf(tx: unknown, prepare: boolean): Runner {
  if (isTransactionSql(tx)) {
    return async (statement, values) => (await askPostgresJs(tx, statement, values, prepare)).rows
  }
  if (isPgClient(tx)) {
    checkStatus(tx)
    return (statement, values) => askQuietly(tx, statement, values, prepare)
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
  const expected = 'a client of pg in a transaction, the sql of postgres.js’s begin(), or an adapter with query()'
  throw invalidArgument('tx', expected, tx)
}

/** Newer versions of pg know whether a transaction is open; without one each statement would stand for itself. */
function checkStatus(tx: PgClient): void {
  const { getTransactionStatus } = tx as { getTransactionStatus?: () => unknown }
  if (getTransactionStatus?.call(tx) === 'I') {
    throw invalidArgument('tx', 'a client of pg in a transaction (BEGIN comes first)', tx)
  }
}

const unheard = (): void => {}

async function askQuietly(
  tx: PgClient,
  statement: Statement,
  values: readonly Value[],
  prepare: boolean,
): Promise<Row[]> {
  // A connection that is lost meanwhile says so twice, and the second time to the process.
  tx.on('error', unheard)
  try {
    return (await askPg(tx, statement, values, prepare)).rows
  } finally {
    tx.removeListener('error', unheard)
  }
}

/** A pool has query(), too, and connect(). */
const isAdapter = (tx: unknown): tx is TxAdapter =>
  typeof tx === 'object' && hasMethods(tx, 'query') && !hasMethods(tx, 'connect')

function textsOf(row: unknown): Row {
  if (row === null || typeof row !== 'object') throw new TypeError('an adapter answered with what is no row')
  const values: unknown[] = Array.isArray(row)
    ? row
    : Array.from({ length: Object.keys(row).length }, (_, index) => (row as Record<string, unknown>)[`c${index}`])
  return values.map((value) => (value === null || value === undefined ? null : String(value)))
}
