// Jobs that are handed over: a worker whose claim leaves slots free offers them, and an add leases a new job to it in its own call. The
// hint that follows carries the job, so that its start waits for no claim.
//
// The hint may be lost. So such a lease is short: its worker looks when its offer is over, and learns when such leases end. The others have
// the hint, too. Any worker may take the job then. As with a job that is claimed ahead (ahead.ts), the loss costs no attempt, and the first
// extend makes the lease longer.
//
// One offer may be taken by several adds, of one id even, if the record of its earlier life is gone. So each hand-over has a fence of its
// own: the name of the claim, and a number that no other hand-over has.

import { aheadMark, aheadWorker } from './ahead.ts'

/** How long after its claim an offer is taken, in ms. */
export const offerMs = 500

/** Length of the lease of a job that is handed over, in ms. Its worker counts from the claim that made the offer, before it. */
export const handedLeaseMs = 1_000

/** The worker in the fence of a job that is handed over. @param worker of the claim that offered the slot */
export const handedWorker = (worker: string, number: number): string => aheadWorker(`${claimWorker(worker)}/${number}`)

/** The worker of the claim that offered a slot, without the mark of claims ahead; from that in the fence of a job that was handed over. */
export const offeringWorker = (worker: string): string => {
  const name = claimWorker(worker)
  return name.slice(0, Math.max(0, name.lastIndexOf('/')))
}

/** The name of a claim, without the mark of claims ahead. */
export const claimWorker = (worker: string): string =>
  worker.endsWith(aheadMark) ? worker.slice(0, -aheadMark.length) : worker
