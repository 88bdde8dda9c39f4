// Ends a delivery that is not retried: updates its row, and returns the error for the engine. A missing row is never an error.

import type { UnrecoverableError } from 'holdfast'
import { type FederationErrorCode, unrecoverable } from '../errors.ts'
import type { FederationContext } from '../context.ts'

type Rows = Pick<FederationContext, 'store' | 'clock'>

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
