// A transaction that the caller has open, as a connection. Nothing here begins, ends or closes it.

import { invalidArgument } from '../../errors.ts'
import { type Bounds, tooLate, within } from './bounded.ts'
import type { PgClient } from './client.ts'
import type { Connection, Row, Statement, Value } from './database.ts'
import { postgresError } from './errors.ts'
import { askPg } from './pg-wires.ts'

interface JoinedOptions extends Bounds {
  readonly prepare: boolean
}

/** @throws TypeError INVALID_ARGUMENT */
export function joinedConnection(tx: unknown, options: JoinedOptions): Connection {
  const run = runnerOf(tx, options)
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

const unheard = (): void => {}

function runnerOf(tx: unknown, { prepare }: JoinedOptions): Runner {
  if (isPgClient(tx)) {
    return async (statement, values) => {
      // A connection that is lost meanwhile says so twice, and the second time to the process.
      tx.on('error', unheard)
      try {
        return (await askPg(tx, statement, values, prepare)).rows
      } finally {
        tx.removeListener('error', unheard)
      }
    }
  }
  throw invalidArgument('tx', 'a client of pg in a transaction', tx)
}

/** Not a Pool: each of its queries may go another way. */
function isPgClient(tx: unknown): tx is PgClient {
  if (tx === null || typeof tx !== 'object') return false
  const { query, on, removeListener, totalCount } = tx as Record<string, unknown>
  return [query, on, removeListener].every((method) => typeof method === 'function') && totalCount === undefined
}
