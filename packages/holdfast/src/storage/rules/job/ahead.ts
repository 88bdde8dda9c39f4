// Claims ahead: a worker whose handlers are short leases jobs before it has a slot for them. Such a lease is short, and its worker
// has a name of a certain form. The first extend makes the lease longer, and so tells that the job was started.
//
// A worker that dies may not have started what it held ahead, so the loss of such a lease costs no attempt. But the job may also be
// the one that ends its process whenever it runs. So after such a loss it is leased for a free slot only, and every loss counts.

import type { AttemptRecord } from '../../storage.ts'

/** Length of the lease of a job that is held ahead. Types whose leases are not longer are never claimed ahead. */
export const aheadLeaseMs = 2_000

/** Ends the name of a worker that claims ahead. */
export const aheadMark = '+ahead'

/** @param worker the name for a claim: it claims ahead then */
export const aheadWorker = (worker: string): string => worker + aheadMark

export const isAhead = (worker: string): boolean => worker.endsWith(aheadMark)

/** Whether the holder of the lease may not have started the job. */
export const isUnstarted = ({ worker, startedAt, until }: HeldLease): boolean =>
  isAhead(worker) && until - startedAt <= aheadLeaseMs

/** Whether the job is leased for a free slot only. A job with a deadline is: its start must be one. */
export const needsSlot = ({ deadlineAt, attempts }: HeldJob): boolean =>
  deadlineAt !== undefined ||
  (attempts?.some(({ outcome, worker }) => outcome === 'stalled' && isAhead(worker)) ?? false)

interface HeldLease {
  readonly worker: string
  readonly startedAt: number
  readonly until: number
}

interface HeldJob {
  readonly deadlineAt: number | undefined
  readonly attempts: readonly AttemptRecord[] | undefined
}
