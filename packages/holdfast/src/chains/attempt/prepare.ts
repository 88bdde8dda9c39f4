// prepare(): checks that the job is still held, and runs the callback, in a transaction where the storage has them.

import { resolveOptions } from '../../resolve-options.ts'
import { OpenTransaction } from '../transactions/open-transaction.ts'
import { prepareOptions } from '../options.ts'
import type { Callback, ChainAttempt } from './chain-attempt.ts'
import { checkFence, checkHeld, confirmLease } from './lease.ts'
import { openShared, openOptions } from './shared-transaction.ts'

/** @throws INVALID_ARGUMENT, PREPARE_TWICE, PREPARE_AFTER_COMPLETE, LeaseLostError, and what the callback throws */
export async function prepare(
  run: ChainAttempt,
  options: { readonly mode: 'atomic' | 'staged' },
  callback: Callback = () => undefined,
): Promise<unknown> {
  const { mode } = resolveOptions('prepare', options, prepareOptions)
  prepareOptions.mode.check('mode', mode)
  if (run.completing) throw run.error('PREPARE_AFTER_COMPLETE', 'prepare() was called after complete()')
  if (run.isPrepared) throw run.error('PREPARE_TWICE', 'prepare() was called twice')
  run.isPrepared = true
  checkHeld(run)
  if (!run.dependencies.storage.transaction) {
    await confirmLease(run)
    return callback({})
  }
  return mode === 'staged' ? prepareStaged(run, callback) : prepareAtomic(run, callback)
}

/** In a transaction of its own, which ends with the callback. */
async function prepareStaged(run: ChainAttempt, callback: Callback): Promise<unknown> {
  const transaction = await OpenTransaction.open({ ...openOptions(run), onTooLong: () => {} })
  try {
    await checkFence(run, transaction.tx, { lock: false })
    const answer = await Promise.race([callback({ tx: transaction.tx }), run.over])
    if (transaction.isOver) throw run.error('TRANSACTION_TOO_LONG', 'the transaction of prepare() was rolled back')
    await transaction.commit()
    return answer
  } catch (error) {
    await transaction.rollBack(error)
    throw error
  }
}

/** In the transaction that complete() goes on with. Without it, there is nothing to complete. */
async function prepareAtomic(run: ChainAttempt, callback: Callback): Promise<unknown> {
  try {
    const { tx } = await openShared(run)
    await checkFence(run, tx, { lock: false })
    return await callback({ tx })
  } catch (error) {
    run.broken ??= { error }
    await run.transaction?.rollBack(error)
    throw error
  }
}
