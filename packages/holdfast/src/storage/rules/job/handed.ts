// Jobs that are handed over: a worker whose claim leaves slots free offers them, and an add leases a new job to it in its own call. The
// hint that follows carries the job, so that its start waits for no claim.
//
// The hint may be lost. So such a lease is short, and counts from the claim that made the offer: its worker looks again when it ends,
// and any worker may take the job then. As with a job that is claimed ahead (ahead.ts), the loss costs no attempt, and the first
// extend makes the lease longer.

/** How long after its claim an offer is taken, in ms. */
export const offerMs = 500

/** When the leases of jobs that are handed over end, in ms after the claim that offered the slots. */
export const handedLeaseMs = 1_000
