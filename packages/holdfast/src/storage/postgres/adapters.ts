// Transactions of ORMs and query builders, to be passed as `tx`. None of these packages is needed here: each adapter uses the
// one public method that runs a statement as text.

import { invalidArgument } from '../../errors.ts'
import { hasMethods } from './connection/client.ts'
import type { TxAdapter } from './connection/joined-connection.ts'

/**
 * Of Drizzle, with any of its Postgres drivers.
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
      // What its sql`…` is to it: something that says what to send.
      const query = { toQuery: () => ({ sql: text, params: values }) }
      const answer = await execute.call(tx, { getSQL: () => query })
      return Array.isArray(answer) ? answer : (answer.rows ?? [])
    },
  }
}

/**
 * Of Kysely: the `trx` of `db.transaction().execute()`, or a controlled transaction.
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
      // A compiled query: plugins know it by the object that is its id, and read the node.
      const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] }
      const compiled = { sql: text, parameters: values, query, queryId: { queryId: 'holdfast' } }
      return (await executeQuery.call(trx, compiled)).rows
    },
  }
}

/**
 * Of Prisma: the `tx` of an interactive `prisma.$transaction(async (tx) => …)`.
 *
 * @throws TypeError INVALID_ARGUMENT
 */
export function prismaTx(tx: object): TxAdapter {
  // The client itself could begin a transaction; what runs inside one cannot.
  if (!hasMethods(tx, '$queryRawUnsafe') || hasMethods(tx, '$transaction')) {
    throw invalidArgument('prismaTx', 'the tx of an interactive $transaction() of Prisma', tx)
  }
  const { $queryRawUnsafe } = tx as { $queryRawUnsafe(text: string, ...values: unknown[]): Promise<unknown[]> }
  return { query: (text, values) => $queryRawUnsafe.call(tx, text, ...values) }
}
