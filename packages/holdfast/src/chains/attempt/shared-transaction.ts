// The transaction that an atomic prepare() and complete() share.

import type { HoldfastError } from '../../errors.ts'
import { OpenTransaction } from '../transactions/open-transaction.ts'
import type { ChainAttempt } from './chain-attempt.ts'

export async function openShared(run: ChainAttempt): Promise<OpenTransaction> {
  const onTooLong = (error: HoldfastError): void => {
    run.broken = { error, isTooLong: true }
    run.attempt.abort('error')
    run.end(error)
  }
  run.transaction = await OpenTransaction.open({ ...openOptions(run), onTooLong })
  return run.transaction
}

export function openOptions({ dependencies, processor, slots, over }: ChainAttempt) {
  const { storage, clock } = dependencies
  return { storage, clock, slots, over, longestMs: Math.floor(processor.leaseMs / 4) }
}
