// The free slots that a worker offers with its claims, so that an add may hand a job over to it. storage/rules/job/handed.ts has the
// rules of such jobs.
//
// Nothing is offered while attempts are long. Their first lease is short, and a handler that keeps the event loop busy cannot renew it:
// the job would run twice. Where attempts are long, a round trip less is no gain.

import type { Clock } from '../../clock.ts'
import { claimWorker, handedLeaseMs, offeringWorker, offerMs } from '../../storage/rules/job/handed.ts'
import type { ClaimedJob, ClaimRequest, Offer } from '../../storage/storage.ts'

export interface OffersOptions {
  readonly clock: Clock
  /** Name of the worker, the same for all its claims. */
  readonly by: string
  /** Whether the storage takes offers, and this worker may make some. */
  readonly isOn: boolean
}

interface Offered {
  /** When its claim was sent: local, monotonic ms. */
  readonly sentAt: number
  /** The workers in the fences of the jobs that were handed over: none yet, one, or several. Nearly all are taken once. */
  taken: string | Set<string> | undefined
}

/** An attempt that takes so long, in ms, ends the offers for a while. */
const longMs = handedLeaseMs / 4
const afterLongMs = 60_000

export class Offers {
  readonly #options: OffersOptions
  /**
   * Those whose jobs may still come, by the worker of their claim: of the last `handedLeaseMs`, and those before. A busy worker makes
   * thousands in that time, and to find the oldest of a Map takes a step for each that was deleted before it.
   */
  #offered = new Map<string, Offered>()
  #earlier = new Map<string, Offered>()
  /** When the first of `#offered` was sent, and the last: local, monotonic ms. */
  #since = -Infinity
  #latestAt = -Infinity
  /** When the last claim with an offer was sent: local, monotonic ms. Undefined: it was taken back, or there was none. */
  #lastAt: number | undefined
  /** Until when nothing is offered: local, monotonic ms. */
  #offUntil = -Infinity

  constructor(options: OffersOptions) {
    this.#options = options
  }

  /** Learns how long an attempt took. */
  noteEnd(ms: number): void {
    if (ms >= longMs) this.#offUntil = this.#options.clock.monotonic() + afterLongMs
  }

  /** Time until the last offer is over, in ms. Infinity: it is. Then a claim learns about jobs whose hints were lost. */
  get endsMs(): number {
    const ms = this.#lastAt === undefined ? 0 : this.#lastAt + offerMs - this.#options.clock.monotonic()
    return ms > 0 ? ms : Infinity
  }

  /** Whether the storage may hold an offer, by its own clock too. */
  get mayStand(): boolean {
    return this.#lastAt !== undefined && this.#options.clock.monotonic() < this.#lastAt + 2 * offerMs
  }

  /**
   * The offer of the next claim, if it makes one: the slots of a worker that was busy a moment ago. So an idle one makes no call to renew it.
   * The lease of a job that is handed over must be shorter than that of a job in progress.
   */
  make({ worker, outcomes, types }: ClaimRequest, slots: number, sentAt: number): Offer | undefined {
    const [first, ...others] = types
    const wasBusy = outcomes!.length > 0 || (this.#lastAt !== undefined && sentAt < this.#lastAt + offerMs)
    const isPlain = others.length === 0 && !first!.limits && first!.leaseMs > handedLeaseMs
    if (!this.#options.isOn || !wasBusy || !isPlain || sentAt < this.#offUntil) return this.takeBack()
    if (this.#since + handedLeaseMs < sentAt) {
      this.#earlier = this.#offered
      this.#offered = new Map()
      this.#since = sentAt
    }
    this.#latestAt = sentAt
    this.#offered.set(claimWorker(worker), { sentAt, taken: undefined })
    this.#lastAt = sentAt
    return { by: this.#options.by, slots }
  }

  /** The claim has filled the slots that it would have offered: no job can come by this offer. */
  withdraw(worker: string): void {
    const claim = claimWorker(worker)
    if (!this.#offered.delete(claim)) this.#earlier.delete(claim)
  }

  /** To be sent with a claim, if there is an offer: after its answer nothing more is handed over, and it knows what was. */
  takeBack(): Offer | undefined {
    if (this.#lastAt === undefined) return undefined
    this.#lastAt = undefined
    return { by: this.#options.by, slots: 0 }
  }

  /**
   * To be called once for each hint that carries a job.
   * @returns 'other': it was handed over to another worker. 'known': the hint came twice. Else when the claim was sent that offered its slot
   */
  take({ worker }: ClaimedJob): number | 'other' | 'known' {
    const claim = offeringWorker(worker)
    const offered = this.#offered.get(claim) ?? this.#earlier.get(claim)
    if (!offered || offered.sentAt + handedLeaseMs < this.#latestAt) return 'other'
    const { taken } = offered
    if (taken === undefined) offered.taken = worker
    else if (typeof taken === 'string') {
      if (taken === worker) return 'known'
      offered.taken = new Set([taken, worker])
    } else {
      if (taken.has(worker)) return 'known'
      taken.add(worker)
    }
    return offered.sentAt
  }
}
