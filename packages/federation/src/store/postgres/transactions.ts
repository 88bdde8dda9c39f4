// A transaction of any kind, as one that the tables can use.

import { HoldfastError, StorageError } from 'holdfast'
import { type OpenTransaction, type Row, textOf, type Value } from '../database.ts'
import {
  askPg,
  isPgClient,
  isTextQueries,
  isTransactionSql,
  type PgClient,
  type PgPool,
  type PostgresSql,
  type TransactionSql,
} from './clients.ts'

/** Begins and ends it. */
export async function pgTransaction<T>(pool: PgPool, run: (tx: OpenTransaction) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let isLost = false
  // A connection that is lost says so to its statement, and then to the process, unless somebody listens.
  const onError = (): void => void (isLost = true)
  client.on('error', onError)
  try {
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
    const answer = await run(joinTransaction(client))
    const { command } = (await client.query('COMMIT')) as { command: string }
    // So the server answers a COMMIT after an error that nobody told: it has undone all.
    if (command === 'ROLLBACK') {
      throw new StorageError('the transaction had failed, and was rolled back', { maybeApplied: false })
    }
    return answer
  } catch (error) {
    await client.query('ROLLBACK').catch(() => void (isLost = true))
    throw error
  } finally {
    client.removeListener('error', onError)
    client.release(isLost)
  }
}

export async function postgresJsTransaction<T>(sql: PostgresSql, run: (tx: OpenTransaction) => Promise<T>): Promise<T> {
  // In an object: of an array it would wait for each.
  const begun = sql.begin('isolation level read committed', async (own: TransactionSql) => ({
    answer: await run(joinTransaction(own)),
  })) as Promise<{ answer: T }>
  return (await begun).answer
}

/** @param isStorages a storage can join it, too */
export function joinTransaction(tx: unknown, isStorages = false): OpenTransaction {
  const query = queryOf(tx)
  return {
    handle: (isTextQueries(tx) && tx.client) || tx,
    storageTx: isStorages ? tx : undefined,
    query: (text, values: readonly Value[] = []) => query(text, values.map(textOf)),
  }
}

function queryOf(tx: unknown): (text: string, values: (string | null)[]) => Promise<Row[]> {
  if (isTransactionSql(tx)) return async (text, values) => (await tx.unsafe(text, values).values()) as Row[]
  if (isPgClient(tx)) {
    checkBegun(tx)
    return async (text, values) => (await askPg(tx, text, values)).rows as unknown as Row[]
  }
  if (isTextQueries(tx)) return async (text, values) => (await tx.query(text, values)).map(cellsOf)
  const expected = 'a client of pg in a transaction, the sql of postgres.js’s begin(), or the tx of a PostgresStorage'
  throw new HoldfastError('INVALID_ARGUMENT', `tx: expected ${expected}`)
}

/** Newer versions of pg know whether a transaction is open; without one each statement would stand for itself. */
function checkBegun(tx: PgClient): void {
  const { getTransactionStatus } = tx as { getTransactionStatus?: () => unknown }
  if (getTransactionStatus?.call(tx) === 'I') {
    throw new HoldfastError('INVALID_ARGUMENT', 'tx: expected a client of pg in a transaction (BEGIN comes first)')
  }
}

/** Rows come as arrays, or as objects with the columns c0, c1, … */
function cellsOf(row: unknown): Row {
  const cells: unknown[] = Array.isArray(row)
    ? row
    : Array.from({ length: Object.keys(row as object).length }, (_, n) => (row as Record<string, unknown>)[`c${n}`])
  return cells.map((cell) => (cell == null ? null : String(cell)))
}
