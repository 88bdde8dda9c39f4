// The error of a call that comes too late for its transaction: without `await`, the function of the transaction goes on, and may commit
// or roll back before the call is sent.

import { HoldfastError } from '../../../errors.ts'
import { sqlStateOf } from './errors.ts'

export const transactionEnded = (cause?: unknown): HoldfastError =>
  new HoldfastError(
    'TRANSACTION_ENDED',
    'Postgres: the transaction has ended before the call was sent, and nothing was written. Await each call inside the transaction',
    cause === undefined ? {} : { cause },
  )

/** SQLSTATE of a savepoint outside of a transaction. */
const noTransaction = '25P01'

/** The library, or the server, has refused a statement because the transaction has ended. Kysely and Prisma have no code for it. */
export const saysEnded = (error: unknown): boolean =>
  sqlStateOf(error) === noTransaction ||
  (error instanceof Error &&
    /Transaction is already (?:committed|rolled back)|Transaction already closed/.test(error.message))
