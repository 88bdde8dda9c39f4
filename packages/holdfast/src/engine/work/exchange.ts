// One exchange of a worker with the storage: outcomes go out, and jobs come in, for the free slots or to be held ahead. Where there
// are both, one call does it.

import type { Clock } from '../../clock.ts'
import { aheadLeaseMs, aheadWorker } from '../../storage/rules/job/ahead.ts'
import type { Claim, ClaimRequest, ClaimType, Outcome } from '../../storage/storage.ts'
import { engineDefaults } from '../defaults.ts'
import type { GuardedStorage } from '../guard.ts'
import type { LimitsCopy } from '../limits/limits-copy.ts'
import type { Offers } from './offers.ts'
import type { Outcomes } from './outcomes.ts'
import type { Prefetch } from './prefetch.ts'
import type { RunningAttempts } from './running-attempts.ts'
import type { Slots } from './slots.ts'
import { claimTypes, type WorkType } from './work-type.ts'

export interface ExchangeOptions {
  readonly storage: Pick<GuardedStorage, 'claim' | 'settle'>
  readonly clock: Clock
  /** Name of the worker, the same for all its claims. With the number of the claim, no two fences are ever equal, whatever the label. */
  readonly workerId: string
  readonly label: string
  readonly types: readonly WorkType[]
  readonly limits: LimitsCopy | undefined
  readonly offers: Offers
  readonly slots: Slots
  readonly prefetch: Prefetch
  readonly outcomes: Outcomes
  readonly running: RunningAttempts
  /** While jobs are held ahead, outcomes are settled beside claims. */
  readonly settlesBeside: boolean
  /** Called with the answer to each claim. @param sentAt when the claim was sent, local and monotonic */
  onClaim(claim: Claim, sentAt: number): void
  /** Called with the answer to each claim of jobs that are to be held ahead. */
  onClaimAhead(claim: Claim, sentAt: number): void
  /** Called while a claim is in flight and slots are left for a second one. */
  onSlotsLeft(): void
  /** Called while a call is in flight, and another one may go beside it. */
  onCallLeft(): void
}

/** Outcomes that are worth a call of their own beside a claim. While fewer jobs are held than twice as many, claims carry them. */
const minBeside = 256

/** Claims for free slots between two claims ahead that found nothing, at most. */
const longestPause = 256

interface Exchanged {
  /** False if leases were not confirmed, or outcomes not sent: then nothing was claimed. */
  readonly canClaim: boolean
  /** Whether there is something left to send or to claim. */
  readonly hasMore: boolean
}

export class Exchange {
  /** Whether a claim may find jobs. Set by a hint or a timer, cleared by each claim that finds too few. */
  mayFindJobs = true
  /** The next due instant, if the last claim returned it. */
  nextDue: Claim['nextDue']
  readonly #options: ExchangeOptions
  #claims = 0
  /** Whether the last claim found as many jobs as it asked for. */
  #wasFull = false
  /** Whether a claim ahead may find jobs: the last claim found as many as it asked for. */
  #mayFindAhead = false
  /** Claims ahead that found nothing, in a row: what is due has groups, for example. Then they are tried more and more seldom. */
  #foundNothing = 0
  /** Claims for free slots until the next one ahead. */
  #aheadAfter = 0
  #claiming = 0
  #settling = 0
  #stopping = false

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  /**
   * Whether outcomes are settled beside claims now: where many jobs are held ahead. Then one claim and one settle are in flight at most. So
   * jobs start in the order of their claims, and an outcome waits for one call at most before its own.
   */
  get settlesBeside(): boolean {
    const { settlesBeside, prefetch } = this.#options
    return settlesBeside && !this.#stopping && prefetch.half >= minBeside
  }

  /** While it settles beside claims, and a call is in flight: whether there is something for the other one. */
  get hasOther(): boolean {
    if (this.#claiming > 0) return this.#settling === 0 && this.#isSettleDue
    return this.#settling > 0 && this.#wantedAhead > 0
  }

  /** Outcomes wait for a claim in flight, unless they are many, or nothing goes on without them. */
  get #isSettleDue(): boolean {
    const { outcomes, prefetch, slots } = this.#options
    return outcomes.waiting >= minBeside || (outcomes.waiting > 0 && (prefetch.size === 0 || slots.areHeld))
  }

  /** From now on nothing is claimed. Outcomes are still sent, and an offer is taken back with the next of them. */
  stop(): void {
    this.#stopping = true
  }

  /** @throws what the storage rejects with. Outcomes that were not sent are kept for the next exchange. */
  async run(): Promise<Exchanged> {
    const { outcomes, running, limits } = this.#options
    // Nearly always there is nothing to send again or to confirm: then no tick is spent on it.
    const areSent = outcomes.resendMs === Infinity || (await outcomes.resend())
    const canClaim = areSent && (this.#stopping || running.size === 0 || (await running.confirm()))
    if (!canClaim) this.mayFindJobs = true
    // A claim keeps to the limits as they were at most 5 s ago. Nothing is read while no claim is to be sent.
    if (limits && canClaim && this.#willClaim && !limits.isFresh) await limits.refresh()
    const isOther = this.#claiming + this.#settling > 0 && this.settlesBeside
    const free = canClaim && !isOther ? this.#free : 0
    const ahead = canClaim && !(isOther && this.#claiming > 0) ? this.#wantedAhead : 0
    const batch = this.#takesOutcomes(ahead) ? outcomes.take() : []
    try {
      if (this.#stopping && this.#options.offers.mayStand) await this.#takeOfferBack(batch)
      else if (ahead > 0) await this.#claimAhead(ahead, batch)
      else if (free > 0 && (this.mayFindJobs || batch.length > 0)) await this.#claim(free, batch)
      else if (batch.length > 0) await this.#settle(batch)
    } catch (error) {
      outcomes.putBack(batch)
      throw error
    }
    const mayClaim = canClaim && ((this.mayFindJobs && this.#free > 0) || this.#wantedAhead > 0)
    return { canClaim, hasMore: outcomes.waiting > 0 || outcomes.resendMs === 0 || mayClaim }
  }

  /** Slots that the next claim may fill: those that no held job takes. */
  get #free(): number {
    const { slots, prefetch } = this.#options
    return this.#stopping ? 0 : Math.max(0, slots.free - prefetch.taken)
  }

  /**
   * Jobs that the next claim may take ahead: for free slots too. After one that found too few, the next claim is for free slots only:
   * a job that must have one may be the next.
   */
  get #wantedAhead(): number {
    const { prefetch, outcomes } = this.#options
    if (this.#stopping || !this.#mayFindAhead || !prefetch.isActive) return 0
    const wanted = this.#free + prefetch.wanted
    if (!this.settlesBeside) return Math.min(wanted, engineDefaults.batch)
    // Not for free slots alone. And outcomes would gather without a bound if the storage were slow to settle only.
    if (this.#settling > 0 && (prefetch.wanted === 0 || outcomes.waiting >= engineDefaults.batch)) return 0
    // While one half starts, a claim brings the other one.
    return Math.min(wanted, prefetch.half)
  }

  /** Whether the next call takes the outcomes along. @param ahead jobs that it claims ahead */
  #takesOutcomes(ahead: number): boolean {
    if (!this.settlesBeside) return true
    return this.#settling === 0 && (ahead === 0 || this.#options.outcomes.waiting < minBeside)
  }

  get #willClaim(): boolean {
    const { outcomes } = this.#options
    return this.#free > 0 && (this.mayFindJobs || outcomes.waiting > 0)
  }

  async #claim(free: number, batch: ReturnType<Outcomes['take']>): Promise<void> {
    const { storage, clock, slots, outcomes, onClaim, onSlotsLeft } = this.#options
    // Cleared before the answer: a hint that comes meanwhile may be of a job that this claim does not see.
    this.mayFindJobs = false
    const sentAt = clock.monotonic()
    slots.reserve(free)
    if (this.#wasFull && slots.free > 0) onSlotsLeft()
    const request = this.#request(free, batch, this.#nextTypes())
    const offer = this.#options.offers.make(request, free, sentAt)
    let claim: Claim
    this.#claiming++
    try {
      claim = await storage.claim(offer ? { ...request, offer } : request)
    } finally {
      this.#claiming--
      slots.unreserve(free)
    }
    outcomes.report(batch, claim.settled)
    if (offer && claim.jobs.length >= offer.slots) this.#options.offers.withdraw(request.worker)
    this.#wasFull = claim.jobs.length === free
    this.#mayFindAhead = this.#wasFull && --this.#aheadAfter <= 0
    this.nextDue = claim.nextDue
    this.mayFindJobs ||= this.#wasFull
    onClaim(claim, sentAt)
  }

  async #claimAhead(count: number, batch: ReturnType<Outcomes['take']>): Promise<void> {
    const { storage, clock, prefetch, outcomes, onClaimAhead, onCallLeft } = this.#options
    // Limits are decided when a job starts, and a lease ahead must be shorter than that of a job in progress.
    const types = this.#nextTypes().filter(({ leaseMs, limits }) => leaseMs > aheadLeaseMs && !limits)
    if (types.length === 0) {
      this.#mayFindAhead = false
      return batch.length > 0 ? this.#settle(batch) : undefined
    }
    const sentAt = clock.monotonic()
    const { worker, ...request } = this.#request(count, batch, types)
    const short = types.map((type) => ({ ...type, leaseMs: aheadLeaseMs }))
    const aheadRequest = { ...request, worker: aheadWorker(worker), types: short }
    const offer = this.#options.offers.make(aheadRequest, this.#free, sentAt)
    prefetch.ask(count)
    this.#claiming++
    if (this.settlesBeside) onCallLeft()
    let claim: Claim
    try {
      claim = await storage.claim(offer ? { ...aheadRequest, offer } : aheadRequest)
    } finally {
      this.#claiming--
      prefetch.answered(count)
    }
    outcomes.report(batch, claim.settled)
    if (offer && claim.jobs.length >= offer.slots) this.#options.offers.withdraw(worker)
    this.#mayFindAhead = claim.jobs.length === count
    this.#foundNothing = claim.jobs.length > 0 ? 0 : this.#foundNothing + 1
    this.#aheadAfter = this.#foundNothing === 0 ? 0 : Math.min(2 ** this.#foundNothing, longestPause)
    this.nextDue = undefined
    onClaimAhead(claim, sentAt)
  }

  /** Jobs that an add would hand over to a worker that has stopped would wait for the end of their leases. */
  async #takeOfferBack(batch: ReturnType<Outcomes['take']>): Promise<void> {
    const { storage, clock, offers, outcomes, onClaim } = this.#options
    const sentAt = clock.monotonic()
    // Tried once: what is handed over meanwhile is lost for a second at most.
    const offer = offers.takeBack()!
    const claim = await storage.claim({ ...this.#request(0, batch, this.#nextTypes()), offer })
    outcomes.report(batch, claim.settled)
    onClaim(claim, sentAt)
  }

  async #settle(batch: ReturnType<Outcomes['take']>): Promise<void> {
    const { storage, outcomes, onCallLeft } = this.#options
    this.#settling++
    if (this.settlesBeside) onCallLeft()
    try {
      outcomes.report(batch, await storage.settle(batch.map(({ outcome }) => outcome)))
    } finally {
      this.#settling--
    }
    this.nextDue = undefined
  }

  #request(slots: number, batch: ReturnType<Outcomes['take']>, types: readonly ClaimType[]): ClaimRequest {
    const { workerId, label } = this.#options
    const outcomes = batch.map(({ outcome }): Outcome => outcome)
    return { worker: `${workerId}/${this.#claims}`, label, slots, outcomes, types }
  }

  /** The types rotate, so that each of them is the first in turn. */
  #nextTypes(): ClaimType[] {
    const { types, limits } = this.#options
    const first = this.#claims++ % types.length
    return claimTypes(first === 0 ? types : [...types.slice(first), ...types.slice(0, first)], limits)
  }
}
