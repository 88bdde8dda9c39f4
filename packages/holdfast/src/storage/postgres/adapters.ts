// Adapters for transactions of ORMs and query builders, to be passed as `tx`. They need none of these packages: each uses the one public
// method that runs a statement given as text.

import { invalidArgument } from '../../errors.ts'
import { hasMethods } from './connection/client.ts'
import type { TxAdapter } from './connection/joined-connection.ts'

/**
 * Adapts a transaction of Drizzle, with any of its Postgres drivers: the `tx` of `db.transaction()`.
 *
 *     await db.transaction((tx) => client.startJobChain({ typeName, input, tx: drizzleTx(tx) }))
 *
 * @throws TypeError INVALID_ARGUMENT
 */
export function drizzleTx(tx: object): TxAdapter {
  if (!hasMethods(tx, 'execute', 'rollback')) {
    throw invalidArgument('drizzleTx', 'the tx of db.transaction() of Drizzle', tx)
  }
  const { execute } = tx as { execute(query: unknown): Promise<{ rows?: unknown[] } | unknown[]> }
  return {
    async query(text, values) {
      // The interface of its sql`…`: an object whose query knows its text and values.
      const query = { toQuery: () => ({ sql: text, params: values }) }
      const answer = await execute.call(tx, { getSQL: () => query })
      return Array.isArray(answer) ? answer : (answer.rows ?? [])
    },
  }
}

/**
 * Adapts a transaction of Kysely: the `trx` of `db.transaction().execute()`, or a controlled transaction.
 *
 * @throws TypeError INVALID_ARGUMENT
 */
export function kyselyTx(trx: object): TxAdapter {
  if (!hasMethods(trx, 'executeQuery') || (trx as { isTransaction?: unknown }).isTransaction !== true) {
    throw invalidArgument('kyselyTx', 'the trx of db.transaction() of Kysely', trx)
  }
  const { executeQuery } = trx as { executeQuery(query: unknown): Promise<{ rows: unknown[] }> }
  return {
    async query(text, values) {
      // A compiled query. Plugins identify it by the object `queryId`, and read the node.
      const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] }
      const compiled = { sql: text, parameters: values, query, queryId: { queryId: 'holdfast' } }
      return (await executeQuery.call(trx, compiled)).rows
    },
  }
}

/**
 * Adapts an interactive transaction of Prisma: the `tx` of `prisma.$transaction(async (tx) => …)`.
 *
 * @throws TypeError INVALID_ARGUMENT
 */
export function prismaTx(tx: object): TxAdapter {
  // Only the client itself has $transaction(); it is not a transaction.
  if (!hasMethods(tx, '$queryRawUnsafe') || hasMethods(tx, '$transaction')) {
    throw invalidArgument('prismaTx', 'the tx of an interactive $transaction() of Prisma', tx)
  }
  const { $queryRawUnsafe } = tx as { $queryRawUnsafe(text: string, ...values: unknown[]): Promise<unknown[]> }
  return { query: (text, values) => $queryRawUnsafe.call(tx, text, ...values) }
}
