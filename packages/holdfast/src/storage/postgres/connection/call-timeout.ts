// Runs a statement and waits for its answer no longer than `callTimeoutMs`. A connection that misses the limit is discarded:
// its late answer could not be told apart from the answer to the next statement.

import type { Clock } from '../../../clock.ts'
import type { RawConnection, StatementResult } from './connector.ts'
import type { Statement, Value } from './database.ts'
import { storageError } from './errors.ts'

export interface CallTimeout {
  readonly callTimeoutMs: number
  readonly clock: Clock
}

/** @param onTimeout releases what the late work holds, and returns the error to reject with */
export async function withTimeout<T>(
  { callTimeoutMs, clock }: CallTimeout,
  work: Promise<T>,
  onTimeout: () => Error,
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = clock.after(callTimeoutMs, () => {
    // The work may still fail, and its rejection has no other handler.
    work.catch(() => {})
    reject(onTimeout())
  })
  try {
    return await Promise.race([work, promise])
  } finally {
    timer.cancel()
  }
}

/** @param mayCommit the statement commits what it does, so a timeout leaves its effect unknown */
export function queryWithTimeout(
  connection: RawConnection,
  statement: Statement,
  values: readonly Value[],
  timeout: CallTimeout,
  mayCommit: boolean,
): Promise<StatementResult> {
  return withTimeout(timeout, connection.query(statement, values), () => {
    connection.discard()
    return timeoutError(timeout, mayCommit)
  })
}

export const timeoutError = ({ callTimeoutMs }: CallTimeout, maybeApplied: boolean): Error =>
  storageError(
    `Postgres: no answer within ${callTimeoutMs} ms (callTimeoutMs). ${
      maybeApplied ? 'The call may have been applied.' : 'The call was not applied.'
    }`,
    { transient: true, maybeApplied },
  )
