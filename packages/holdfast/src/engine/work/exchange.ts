// One exchange of a worker with the storage: outcomes go out, and jobs for the free slots come in. Where there are both, one
// call does it.

import type { Clock } from '../../clock.ts'
import type { Claim, ClaimRequest, Outcome } from '../../storage/storage.ts'
import type { GuardedStorage } from '../guard.ts'
import type { LimitsCopy } from '../limits/limits-copy.ts'
import type { Outcomes } from './outcomes.ts'
import type { RunningAttempts } from './running-attempts.ts'
import type { Slots } from './slots.ts'
import { claimTypes, type WorkType } from './work-type.ts'

export interface ExchangeOptions {
  readonly storage: Pick<GuardedStorage, 'claim' | 'settle'>
  readonly clock: Clock
  readonly label: string
  readonly types: readonly WorkType[]
  readonly limits: LimitsCopy | undefined
  readonly slots: Slots
  readonly outcomes: Outcomes
  readonly running: RunningAttempts
  /** Called with the answer to each claim. @param sentAt when the claim was sent, local and monotonic */
  onClaim(claim: Claim, sentAt: number): void
  /** Called while a claim is in flight and slots are left for a second one. */
  onSlotsLeft(): void
}

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
  /** With the number of the claim, no two fences are ever equal, whatever the label. */
  readonly workerId: string
  #claims = 0
  /** Whether the last claim found as many jobs as it asked for. */
  #wasFull = false
  #stopping = false

  constructor(options: ExchangeOptions) {
    this.#options = options
    this.workerId = `${options.label}/${options.clock.newId()}`
  }

  /** From now on nothing is claimed. Outcomes are still sent. */
  stop(): void {
    this.#stopping = true
  }

  /** @throws what the storage rejects with. Outcomes that were not sent are kept for the next exchange. */
  async run(): Promise<Exchanged> {
    const { outcomes, running, slots, limits } = this.#options
    const canClaim = (await outcomes.resend()) && (this.#stopping || (await running.confirm()))
    if (!canClaim) this.mayFindJobs = true
    // A claim keeps to the limits as they were at most 5 s ago. Nothing is read while no claim is to be sent.
    if (limits && canClaim && this.#willClaim && !limits.isFresh) await limits.refresh()
    const batch = outcomes.take()
    const free = this.#stopping || !canClaim ? 0 : slots.free
    try {
      if (free > 0 && (this.mayFindJobs || batch.length > 0)) await this.#claim(free, batch)
      else if (batch.length > 0) await this.#settle(batch)
    } catch (error) {
      outcomes.putBack(batch)
      throw error
    }
    const hasRoom = canClaim && !this.#stopping && slots.free > 0
    const hasMore = outcomes.waiting > 0 || outcomes.resendMs === 0 || (this.mayFindJobs && hasRoom)
    return { canClaim, hasMore }
  }

  get #willClaim(): boolean {
    const { outcomes, slots } = this.#options
    return !this.#stopping && slots.free > 0 && (this.mayFindJobs || outcomes.waiting > 0)
  }

  async #claim(free: number, batch: ReturnType<Outcomes['take']>): Promise<void> {
    const { storage, clock, slots, outcomes, onClaim, onSlotsLeft } = this.#options
    // Cleared before the answer: a hint that comes meanwhile may be of a job that this claim does not see.
    this.mayFindJobs = false
    const sentAt = clock.monotonic()
    slots.reserve(free)
    if (this.#wasFull && slots.free > 0) onSlotsLeft()
    const request = this.#request(
      free,
      batch.map(({ outcome }) => outcome),
    )
    const claim = await storage.claim(request).finally(() => slots.unreserve(free))
    outcomes.report(batch, claim.settled)
    this.#wasFull = claim.jobs.length === free
    this.nextDue = claim.nextDue
    this.mayFindJobs ||= this.#wasFull
    onClaim(claim, sentAt)
  }

  async #settle(batch: ReturnType<Outcomes['take']>): Promise<void> {
    const { storage, outcomes } = this.#options
    outcomes.report(batch, await storage.settle(batch.map(({ outcome }) => outcome)))
    this.nextDue = undefined
  }

  /** The types rotate, so that each of them is the first in turn. */
  #request(slots: number, outcomes: readonly Outcome[]): ClaimRequest {
    const { label, types, limits } = this.#options
    const first = this.#claims++ % types.length
    const rotated = first === 0 ? types : [...types.slice(first), ...types.slice(0, first)]
    return {
      worker: `${this.workerId}/${this.#claims}`,
      label,
      slots,
      outcomes,
      types: claimTypes(rotated, limits),
    }
  }
}
