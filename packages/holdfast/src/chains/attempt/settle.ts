// The end of an attempt that completed: with the worker's next batch or, if a transaction is open, in it and committed here.

import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import { Continued } from '../events/engine-events.ts'
import { blockerNotFound } from '../job/not-found.ts'
import { type Completing, endingOf } from '../job/completion.ts'
import type { NewJob } from '../../storage/storage.ts'
import type { OpenTransaction } from '../transactions/open-transaction.ts'
import type { ChainAttempt } from './chain-attempt.ts'
import { failureOf } from './failure.ts'
import { refuse } from './lease.ts'

/** @throws LeaseLostError, TRANSACTION_TOO_LONG, BLOCKER_NOT_FOUND, StorageError: then nothing was committed */
export async function settle(run: ChainAttempt, completing: Completing): Promise<AttemptEnd> {
  run.isSettling = true
  const jobs = completing.kind === 'continued' ? completing.jobs : []
  const end: AttemptEnd = {
    ending: endingOf(completing),
    value: completing.kind === 'completed' ? completing.output : new Continued(completing.jobs),
    // A chain that the continuation waits for does not exist, or its group is of the other kind.
    instead: (added) => failed(run, blockerNotFound({ added }, jobs, run.about)),
  }
  const settled = run.transaction ? await settleIn(run, run.transaction, end, jobs) : end
  if (completing.kind === 'continued') completing.onEnd(settled.error)
  return settled
}

async function settleIn(
  run: ChainAttempt,
  transaction: OpenTransaction,
  end: AttemptEnd,
  jobs: readonly NewJob[],
): Promise<AttemptEnd> {
  if (transaction.isOver) throw run.error('TRANSACTION_TOO_LONG', 'its transaction was rolled back')
  // With the report of a call in flight: an extend cannot pass the transaction, and the fence refuses it afterwards.
  const outcome = { ...run.attempt.fence, ...end.ending, ...run.attempt.unstored }
  const [verdict] = await run.dependencies.storage.settle([outcome], transaction.tx)
  if (verdict!.verdict === 'conflict') throw blockerNotFound(verdict!, jobs, run.about)
  if (verdict!.verdict !== 'settled') throw refuse(run, verdict!.verdict)
  // From the settle to the commit the record is locked, whether complete() had locked it or not.
  run.attempt.locked = true
  try {
    await transaction.commit()
  } catch (error) {
    // The commit may have happened. A retry is answered as the settle was if it did, and counts if it did not.
    return { ...failed(run, error), value: end.value }
  }
  return { ...end, verdict }
}

const failed = ({ attempt, processor, dependencies }: ChainAttempt, error: unknown): AttemptEnd =>
  failureOf(attempt, error, processor, dependencies)
