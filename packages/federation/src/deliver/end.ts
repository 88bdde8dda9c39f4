// The end of a delivery that will not be tried again: what becomes of its row, and the error that tells the engine. A row that
// is not there is never an error.

import type { UnrecoverableError } from 'holdfast'
import { type FederationErrorCode, unrecoverable } from '../errors.ts'
import type { FederationContext } from '../context.ts'

type Rows = Pick<FederationContext, 'store' | 'clock'>

/** Nobody can do anything about it: the row goes. */
export async function endAndForget(
  { store }: Rows,
  deliveryJobId: string,
  code: FederationErrorCode,
  message: string,
): Promise<UnrecoverableError> {
  await store.deliveries.remove(deliveryJobId)
  return unrecoverable(code, message)
}

/** The row stays as failed, with its code, until it is swept. */
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
