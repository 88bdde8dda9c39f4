// The loop of a worker, in rounds of one exchange each:
//
//   a hint, an outcome, a timer ─► schedule ─► #round ─► Exchange.run (claim, or settle)
//                                     ▲          ├─ something is left to do: schedule
//                                     └──────────┘  nothing is left: #goIdle, until the next hint, due instant or poll
//
// One round is in flight at a time, except for outcomes that the storage refuses (outcomes.ts). Outcomes gather meanwhile, and
// the next claim sends them along: the slower the storage, the larger the batches. A storage on a server asks for several
// claims in flight (settings.claimsInFlight). Then a worker with many slots runs as many rounds, each for its share of them. While it holds
// many jobs ahead, it may run a claim and a settle at once instead (settings.settlesBeside).

import type { Clock } from '../../clock.ts'
import { engineDefaults } from '../defaults.ts'
import type { PublishEvent } from '../events.ts'
import { type Backoff, delayAfter } from '../job/backoff.ts'
import type { ConditionVariable } from './condition-variable.ts'
import type { Exchange } from './exchange.ts'
import type { Offers } from './offers.ts'
import type { Outcomes } from './outcomes.ts'
import type { Prefetch } from './prefetch.ts'
import type { Slots } from './slots.ts'
import type { Wake } from './wake.ts'

export interface RoundsOptions {
  readonly clock: Clock
  readonly exchange: Exchange
  readonly offers: Offers
  readonly outcomes: Outcomes
  readonly slots: Slots
  readonly prefetch: Prefetch
  readonly wake: Wake
  /** Pause before the next round while the storage fails. */
  readonly loopBackoff: Backoff
  /** Notified at the end of each round. */
  readonly changed: ConditionVariable
  readonly publishEvent: PublishEvent
}

/** Rounds that start in one pass of the event loop without waiting for the next one, at most: timers and I/O need their turn. */
const startsPerPass = 32

/** Pause before the next exchange, in ms, when the storage did not confirm what this worker holds. */
const unconfirmedMs = 1_000

export class Rounds {
  readonly #options: RoundsOptions
  #isStarted = false
  #stopping = false
  #hasEnded = false
  #isScheduled = false
  /** Rounds of this pass of the event loop that did not wait for the next one. */
  #starts = 0
  /** Whether the next pass of the event loop plans the idle wait. */
  #isPlanning = false
  #inFlight = 0
  /** A round was asked for while none could start: one follows those in flight. */
  #isFollowed = false
  /** Consecutive rounds that failed. */
  #failures = 0
  /** When the first of them failed: local, monotonic ms. */
  #failingSince = 0
  /** Set while nothing is left to do: the idle wait, no longer than `maxMs`. Each round ends it. */
  #idle: { readonly maxMs: number; isPlanned: boolean } | undefined

  constructor(options: RoundsOptions) {
    this.#options = options
  }

  /** Resolves after the first round, once it is known when the next one comes. */
  async start(): Promise<void> {
    this.#isStarted = true
    await this.#round()
    await this.#planIdleWait()
  }

  /** Ends the idle wait. Later rounds send outcomes and claim nothing. */
  stop(): void {
    this.#stopping = true
    this.#idle = undefined
    this.#options.exchange.stop()
    this.#options.wake.cancel()
    if (this.#options.offers.mayStand) this.schedule()
  }

  /** The time of the stop is over: from now on a round begins only to release the jobs of a claim that is answered late. */
  end(): void {
    this.#hasEnded = true
    this.#options.outcomes.end()
  }

  /** No round is in flight or to come, and every outcome is recorded. */
  get areDone(): boolean {
    return this.#inFlight === 0 && !this.#isScheduled && this.#options.outcomes.size === 0
  }

  /** How long rounds have failed without a success between, in ms. */
  get failingMs(): number {
    return this.#failures === 0 ? 0 : this.#options.clock.monotonic() - this.#failingSince
  }

  /** How much the next round is overdue, in ms. */
  get lateMs(): number {
    return this.#inFlight > 0 || this.#stopping ? 0 : this.#options.wake.lateMs
  }

  /** Schedules a round that claims: there may be a job, or a free slot. */
  scheduleClaim(): void {
    this.#options.exchange.mayFindJobs = true
    this.schedule()
  }

  /**
   * Schedules a round at the next pass of the event loop, so that outcomes of one pass are sent together. While no attempt runs, none
   * can follow: then the round starts at the end of this tick.
   */
  schedule(): void {
    if (this.#isScheduled || !this.#canStart) {
      this.#isFollowed = true
      return
    }
    this.#isScheduled = true
    const { clock, slots, prefetch } = this.#options
    const waits = !slots.areIdle || prefetch.size > 0 || this.#starts === startsPerPass
    if (waits || !clock.endOfTick) return clock.soon(this.#startScheduled)
    if (this.#starts++ === 0) clock.soon(this.#nextPass)
    clock.endOfTick(this.#startScheduled)
  }

  readonly #startScheduled = (): void => {
    this.#isScheduled = false
    if (this.#canStart) void this.#round()
    else this.#isFollowed = true
  }

  readonly #nextPass = (): void => {
    this.#starts = 0
  }

  /**
   * No round is in flight; or only claims are, another one is allowed, and no outcome has to be sent again. Not before start(): a hint may
   * come while the worker begins to listen, and if that fails, the worker is dropped and never stopped.
   */
  get #canStart(): boolean {
    const { slots, prefetch, outcomes, exchange } = this.#options
    if (!this.#isStarted || (this.#hasEnded && outcomes.waiting === 0)) return false
    if (this.#inFlight === 0) return true
    if (exchange.settlesBeside) return this.#inFlight === 1 && outcomes.size === outcomes.waiting && exchange.hasOther
    const areClaims = this.#inFlight < slots.maxClaims && (slots.hasClaimsInFlight || prefetch.hasClaimInFlight)
    return areClaims && !this.#stopping && outcomes.size === outcomes.waiting
  }

  async #round(): Promise<void> {
    const { exchange, changed } = this.#options
    this.#inFlight++
    this.#idle = undefined
    let canClaim = false
    let hasFailed = false
    try {
      const exchanged = await exchange.run()
      canClaim = exchanged.canClaim
      if (exchanged.hasMore) this.#isFollowed = true
    } catch (error) {
      hasFailed = true
      this.#fail(error as Error)
    }
    this.#inFlight--
    if (this.#isFollowed) {
      if (!hasFailed) this.#failures = 0
      this.#isFollowed = false
      this.schedule()
      // Decided only here, by the last round in flight: two whose answers came together would each leave it to the other.
    } else if (this.#inFlight === 0 && !hasFailed) {
      this.#goIdle(canClaim)
    }
    changed.notify()
  }

  /** With a free slot, waits for the next due instant; else for an outcome, or for the leases to be confirmed. */
  #goIdle(canClaim: boolean): void {
    const { outcomes, slots, clock, wake, offers } = this.#options
    const { resendMs } = outcomes
    if (canClaim && !this.#stopping && slots.free > 0) {
      this.#idle = { maxMs: Math.min(resendMs, offers.endsMs), isPlanned: false }
      if (this.#isPlanning) return
      this.#isPlanning = true
      clock.soon(this.#planNextPass)
    } else {
      this.#failures = 0
      wake.wakeAfter(canClaim ? resendMs : Math.min(resendMs, unconfirmedMs))
    }
  }

  readonly #planNextPass = (): void => {
    this.#isPlanning = false
    void this.#planIdleWait()
  }

  /**
   * Asks when something is due, and waits until then. Not part of a round: an attempt that ends meanwhile does not wait for the
   * answer, and one that ends at once saves the question.
   */
  async #planIdleWait(): Promise<void> {
    const { wake, exchange } = this.#options
    const idle = this.#idle
    if (!idle || idle.isPlanned || this.#isScheduled) return
    idle.isPlanned = true
    try {
      const ms = await wake.idleMs(idle.maxMs, exchange.nextDue)
      if (this.#idle === idle) wake.wakeAfter(ms)
      this.#failures = 0
    } catch (error) {
      if (this.#idle === idle) this.#fail(error as Error)
    }
  }

  /** The storage failed: the next round comes after a pause, which grows with each failure. */
  #fail(error: Error): void {
    const { publishEvent, loopBackoff, clock, exchange, outcomes, wake } = this.#options
    publishEvent({ name: 'error', error })
    exchange.mayFindJobs = true
    this.#isFollowed = false
    if (this.#failures === 0) this.#failingSince = clock.monotonic()
    const pauseMs = delayAfter(loopBackoff, ++this.#failures, error, clock, () => {})
    // Outcomes to send again have a pause of their own, which may be shorter.
    wake.wakeAfter(Math.min(pauseMs, Math.max(outcomes.resendMs, engineDefaults.retryMs)))
  }
}
