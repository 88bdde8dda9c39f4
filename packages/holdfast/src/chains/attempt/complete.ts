// complete(): takes the outcome of the handler, an output or a continuation. It is settled when the handler has resolved.

import { completedWith, type Completing, runCompletion } from '../job/completion.ts'
import type { Callback, ChainAttempt } from './chain-attempt.ts'
import { checkFence, checkHeld } from './lease.ts'
import { openShared } from './shared-transaction.ts'

/** @throws COMPLETE_TWICE, LeaseLostError, JobTypeValidationError, SerializationError, and what the callback throws */
export async function complete(
  run: ChainAttempt,
  given: unknown,
  options: { readonly tx?: false } | undefined,
): Promise<object> {
  if (run.completing) throw run.error('COMPLETE_TWICE', 'complete() was called twice. The first call counts.')
  const completing = completion(run, given, options?.tx !== false)
  run.completing = completing
  // The handler may not await it: the attempt does. What a failed completion wrote is rolled back at once.
  completing.catch((error: unknown) => run.transaction?.rollBack(error))
  await completing
  return { jobId: run.job.id }
}

async function completion(run: ChainAttempt, given: unknown, inTransaction: boolean): Promise<Completing> {
  if (run.broken) throw run.broken.error
  checkHeld(run)
  const { attempt, dependencies } = run
  if (typeof given !== 'function') return completedWith(run.job.typeName, given, dependencies.registry)
  const callback = given as Callback
  if (!dependencies.storage.transaction || !inTransaction) return runCompletion(callback, attempt.job, dependencies)
  const { tx } = run.transaction ?? (await openShared(run))
  await checkFence(run, tx, { lock: true })
  return runCompletion(callback, attempt.job, dependencies, tx)
}
