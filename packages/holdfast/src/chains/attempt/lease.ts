// Whether an attempt still holds its job: by the state known here, and by the storage.

import type { LeaseLostError } from '../../errors.ts'
import { isTerminal } from '../../storage/rules/job/states.ts'
import type { JobRecord, Refusal } from '../../storage/storage.ts'
import { type ChainAttempt, endsAttempt } from './chain-attempt.ts'

/** @throws LeaseLostError if the attempt is known to be over */
export function checkHeld(run: ChainAttempt): void {
  const { abortedFor, lost, decided } = run.attempt
  if (abortedFor && (endsAttempt(abortedFor) || lost || decided)) throw run.leaseLost(abortedFor)
  if (decided) throw run.leaseLost('taken_by_another_worker')
}

/** Asks a storage without transactions, by renewing the lease. @throws LeaseLostError */
export async function confirmLease(run: ChainAttempt): Promise<void> {
  const lease = { ...run.attempt.fence, leaseMs: run.processor.leaseMs }
  const [answer] = await run.dependencies.storage.extend([lease])
  const { verdict } = answer!
  if (verdict === 'extended' || verdict === 'busy') return
  throw refuse(run, verdict === 'cancelling' ? 'cancelled' : verdict)
}

/** Reads the fence in a transaction. With `lock`, the record is locked until its end: then the lock is the lease. @throws LeaseLostError */
export async function checkFence(run: ChainAttempt, tx: unknown, { lock }: { readonly lock: boolean }): Promise<void> {
  const { type, id, worker, attempt } = run.attempt.fence
  const [record] = await run.dependencies.storage.get([{ type, id }], { lock, tx })
  const isHeld = record?.state === 'processing' && record.worker === worker && record.attempt === attempt
  if (!isHeld) throw refuse(run, refusalOf(record))
  if (lock) run.attempt.locked = true
}

/** Marks the attempt as lost, as the verdict of a renewal would: nothing of it is left to record. */
export function refuse(run: ChainAttempt, verdict: Refusal): LeaseLostError {
  const { attempt } = run
  if (!attempt.lost) {
    const { type, id } = attempt.job
    run.dependencies.publishEvent({ name: 'fenced', type, id, attempt: attempt.counted, verdict })
  }
  attempt.lost = true
  attempt.abort(verdict)
  return run.leaseLost(verdict)
}

/** The refusal that a settle would get. */
function refusalOf(record: JobRecord | undefined): Refusal {
  if (!record) return 'not_found'
  if (record.state === 'cancelled') return 'cancelled'
  return isTerminal(record.state) ? 'already_completed' : 'taken_by_another_worker'
}
