// Asks a wire and waits no longer than a call may take. A connection that has not answered by then is thrown away: what it
// would still say could not be told from the answer to the next question.

import type { Clock } from '../../../clock.ts'
import type { Statement, Value } from './database.ts'
import { storageError } from './errors.ts'
import type { Answer, Wire } from './wire.ts'

export interface Bounds {
  readonly callTimeoutMs: number
  readonly clock: Clock
}

/** @param onLate what becomes of a late answer, and of what would give it; the error to reject with */
export async function within<T>({ callTimeoutMs, clock }: Bounds, work: Promise<T>, onLate: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = clock.after(callTimeoutMs, () => {
    // Nobody listens to it any more, and it may still fail.
    work.catch(() => {})
    reject(onLate())
  })
  try {
    return await Promise.race([work, promise])
  } finally {
    timer.cancel()
  }
}

/** @param mayCommit for the error of a late answer */
export function ask(
  wire: Wire,
  statement: Statement,
  values: readonly Value[],
  bounds: Bounds,
  mayCommit: boolean,
): Promise<Answer> {
  return within(bounds, wire.query(statement, values), () => {
    wire.discard()
    return tooLate(bounds, mayCommit)
  })
}

export const tooLate = ({ callTimeoutMs }: Bounds, maybeApplied: boolean): Error =>
  storageError(`Postgres did not answer within ${callTimeoutMs} ms`, { transient: true, maybeApplied })
