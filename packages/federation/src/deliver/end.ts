// Ends a delivery that is not retried: updates its row, and returns the error for the engine. A missing row is never an error.

import type { UnrecoverableError } from 'holdfast'
import { FederationError, type FederationErrorCode, unrecoverable } from '../errors.ts'
import type { FederationContext, SendingContext } from '../context.ts'

type Rows = Pick<FederationContext, 'store' | 'clock'> & Pick<SendingContext, 'contacts'>

/** The reply to a delivery. */
export interface ReplyTo {
  readonly deliveryJobId: string
  /** It came by a relay: it proves nothing before it is verified, so whatever is wrong with it ends nothing. */
  readonly isRelayed: boolean
}

/**
 * Ends a delivery for its reply. If that came by a relay, or in the profile `hardened`, the delivery goes on: a server under maintenance may
 * answer anything with 200.
 */
export async function endForReply(
  rows: Rows,
  { deliveryJobId, isRelayed }: ReplyTo,
  end: typeof endAndForget | typeof endAndKeep,
  code: FederationErrorCode,
  message: string,
): Promise<Error> {
  return isRelayed || rows.contacts ? new FederationError(code, message) : end(rows, deliveryJobId, code, message)
}

/** Removes the row: an operator could do nothing with it. */
export async function endAndForget(
  { store }: Rows,
  deliveryJobId: string,
  code: FederationErrorCode,
  message: string,
): Promise<UnrecoverableError> {
  await store.deliveries.remove(deliveryJobId)
  return unrecoverable(code, message)
}

/** Keeps the row as `failed`, with its code, until upkeep sweeps it. */
export async function endAndKeep(
  { store, clock }: Rows,
  deliveryJobId: string,
  code: FederationErrorCode,
  message: string,
  cause?: unknown,
): Promise<UnrecoverableError> {
  await store.deliveries.failed(deliveryJobId, code, clock.now())
  return unrecoverable(code, message, cause)
}
