// Redis has no transactions that a move could join.

import { unsupported } from '../../../errors.ts'

/** @throws HoldfastError FEATURE_UNSUPPORTED */
export function refuseTransaction(tx: unknown): void {
  if (tx !== undefined) throw unsupported('redis', 'transactions')
}
