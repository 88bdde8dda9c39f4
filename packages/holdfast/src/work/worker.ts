// The loop: look, run what was found, send what came of it, sleep. One claim or settle is under way at a time, but for
// outcomes that cannot be sent (outcomes.ts): while it is, outcomes gather, and the next claim takes them along, so the
// slower the storage, the larger the batches. A worker with many slots on a server has two claims under way, for half of
// its slots each, so that neither waits for the other.
// Longer than other files: what decides when the next turn comes is in one place.

import { atMost, type Clock, type Timer } from '../clock.ts'
import { isWatched, type Tell } from '../events.ts'
import { type Backoff, delayAfter } from '../job/backoff.ts'
import { engineDefaults } from '../options.ts'
import type { GuardedStorage } from '../storage/guard.ts'
import type { Claim, ClaimedJob, ClaimRequest, Outcome } from '../storage/storage.ts'
import { Sweeper } from '../upkeep/sweep.ts'
import { Attempt } from './attempt.ts'
import { Leases } from './lease.ts'
import { Outcomes, type AttemptEnd, tellEnded } from './outcomes.ts'
import { Wake } from './wake.ts'

/** One kind of job that a worker serves. */
export interface WorkType {
  readonly type: string
  /** Not above capMs. */
  readonly leaseMs: number
  /** Between two renewals of the lease; below leaseMs. */
  readonly renewMs: number
  /** The longest that one attempt may take; then it is given up as stalled. Infinity: any time. */
  readonly capMs: number
  /** For jobs that have none of their own. */
  readonly maxAttempts?: number
  /** Runs one attempt; for a Queue: execute.ts. Never rejects: what goes wrong is an outcome. */
  run(attempt: Attempt): Promise<AttemptEnd>
  /** The payload of a job that is not run, for those who are told of its end. Never throws. */
  payloadOf(bytes: Uint8Array | undefined): unknown
  /** The signal's reason is a JobAbortReason. @default an AttemptAbortedError */
  readonly plainReasons?: boolean
  /** `started` is told even if nobody watches everything. */
  readonly tellsStarts?: boolean
}

export interface WorkerOptions {
  readonly storage: GuardedStorage
  readonly clock: Clock
  /** The name people know it by. */
  readonly label: string
  readonly concurrency: number
  readonly types: readonly WorkType[]
  /** The longest sleep, in ms. Infinity: hints alone wake. */
  readonly pollMs: number
  /** A slot that has run a job stays empty for so long, in ms. */
  readonly slotPauseMs: number
  /** Between two looks while the storage fails. */
  readonly loopBackoff: Backoff
  readonly tell: Tell
}

/** With fewer slots for each, claims at once would be too small. */
const fewestSlots = 5

/** Before another look, when the storage did not confirm what this worker holds. */
const unconfirmedMs = 1_000

export class Worker {
  readonly #options: WorkerOptions
  readonly #works: ReadonlyMap<string, WorkType>
  readonly #leases: Leases
  readonly #outcomes: Outcomes
  readonly #wake: Wake
  readonly #sweeper: Sweeper
  /** With the number of the call, no two leases are ever alike, whatever the label. */
  readonly #id: string
  #claims = 0
  /** How many claims may be under way, and the slots that those which are have asked for. */
  readonly #lanes: number
  #asked = 0
  /** The last claim gave as much as it asked for. */
  #plenty = false
  /** There may be more to claim. */
  #hungry = true
  #stopping = false
  /** A turn is to come, is under way, or is to follow the one under way. */
  #scheduled = false
  #turning = 0
  #again = false
  /** Nothing is left to do: to sleep, no longer than this, until a turn says otherwise. */
  #nap: { readonly longestMs: number; asked: boolean } | undefined
  /** Turns that failed, one after the other. */
  #failures = 0
  /** Ended attempts that keep their slot: something is to follow what was recorded. */
  #trailing = 0
  readonly #rests = new Set<Timer>()
  #onQuiet: (() => void) | undefined

  constructor(options: WorkerOptions) {
    const { storage, clock, types, tell, label, pollMs } = options
    this.#options = options
    this.#id = `${label}/${clock.newId()}`
    const { claimsInFlight = 1 } = storage.settings
    this.#lanes = Math.max(1, Math.min(claimsInFlight, Math.floor(options.concurrency / fewestSlots)))
    this.#works = new Map(types.map((work) => [work.type, work]))
    this.#outcomes = new Outcomes({ storage, clock, tell, onRetried: () => this.#schedule() })
    this.#leases = new Leases({ storage, clock, tell, onCap: (attempt) => this.#giveUp(attempt) })
    this.#wake = new Wake({
      storage,
      clock,
      types,
      pollMs,
      onWake: () => this.#look(),
      onAbort: (ids) => this.#leases.look(ids),
    })
    this.#sweeper = new Sweeper({ storage, clock, tell })
  }

  /** Resolves after the first look. */
  async start(): Promise<void> {
    const { label, tell } = this.#options
    await this.#wake.listen()
    if (this.#stopping) return
    this.#sweeper.start()
    tell({ name: 'worker_online', label, types: [...this.#works.keys()] })
    await this.#turn()
    await this.#sleep()
  }

  /**
   * Takes no new job, lets handlers run for `graceMs`, aborts them, gives them `afterAbortMs` more, and releases what is
   * left. Bounded in time, also when the storage does not answer.
   * @param options.writesMs for what is still to be written then
   * @returns what is left of the time that stopping leaves to the storage, in ms
   */
  async stop({
    graceMs,
    afterAbortMs,
    writesMs = engineDefaults.stopWritesMs,
  }: {
    graceMs: number
    afterAbortMs: number
    writesMs?: number
  }): Promise<number> {
    const { clock, label, tell } = this.#options
    this.#stopping = true
    this.#nap = undefined
    this.#wake.cancel()
    this.#sweeper.stop()
    for (const rest of this.#rests) rest.cancel()
    const isDone = (): boolean => this.#leases.size === 0 && this.#trailing === 0
    await this.#quiet(graceMs, isDone)
    if (!isDone()) {
      for (const attempt of this.#leases) attempt.abort('stopping')
      await this.#quiet(afterAbortMs, isDone)
      for (const attempt of this.#leases) {
        this.#end(attempt, { ending: { kind: 'released' } })
        attempt.onDecided?.()
      }
    }
    const deadline = clock.monotonic() + writesMs
    this.#schedule()
    await this.#quiet(writesMs, () => this.#turning === 0 && !this.#scheduled && this.#outcomes.size === 0)
    this.#leases.stop()
    await atMost(clock, deadline - clock.monotonic(), this.#wake.stop()).catch(() => {})
    tell({ name: 'worker_offline', label, types: [...this.#works.keys()] })
    return Math.max(0, deadline - clock.monotonic())
  }

  // ── turns ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  #look(): void {
    this.#hungry = true
    this.#schedule()
  }

  /** A turn of the event loop later, so that outcomes that come together leave together. */
  #schedule(): void {
    if (this.#scheduled || !this.#hasLane) {
      this.#again = true
      return
    }
    this.#scheduled = true
    this.#options.clock.soon(() => {
      this.#scheduled = false
      // A hint may come before the first turn, which start() takes by itself.
      if (this.#hasLane) void this.#turn()
      else this.#again = true
    })
  }

  /** Nothing is under way; or there is a lane beside the claims that are, and the storage has taken all there was. */
  get #hasLane(): boolean {
    if (this.#turning === 0) return true
    const claiming = this.#turning < this.#lanes && this.#asked > 0
    return claiming && !this.#stopping && this.#outcomes.size === this.#outcomes.waiting
  }

  async #turn(): Promise<void> {
    this.#turning++
    this.#nap = undefined
    let canClaim: boolean | undefined
    try {
      canClaim = await this.#exchange()
    } catch (error) {
      this.#fail(error as Error)
    }
    this.#turning--
    if (this.#again) {
      if (canClaim !== undefined) this.#failures = 0
      this.#again = false
      this.#schedule()
      // Only now it is known who is the last: two whose answers came together would each leave it to the other.
    } else if (this.#turning === 0 && canClaim !== undefined) {
      this.#windDown(canClaim)
    }
    this.#onQuiet?.()
  }

  /** Nothing is left to do now. With a free slot, the next due instant is slept for; else an outcome, or the leases. */
  #windDown(canClaim: boolean): void {
    const { resendMs } = this.#outcomes
    if (canClaim && !this.#stopping && this.#freeSlots > 0) {
      this.#nap = { longestMs: resendMs, asked: false }
      this.#options.clock.soon(() => void this.#sleep())
    } else {
      this.#failures = 0
      this.#wake.wakeAfter(canClaim ? resendMs : Math.min(resendMs, unconfirmedMs))
    }
  }

  /** The storage is in trouble: look again after a pause, a longer one each time. */
  #fail(error: Error): void {
    const { tell, loopBackoff, clock } = this.#options
    tell({ name: 'error', error })
    this.#hungry = true
    this.#again = false
    const pauseMs = delayAfter(loopBackoff, ++this.#failures, error, clock, () => {})
    // Outcomes that came back wait for no look.
    this.#wake.wakeAfter(Math.min(pauseMs, Math.max(this.#outcomes.resendMs, engineDefaults.retryMs)))
  }

  /**
   * Asks when something is due, and sleeps until then. No part of a turn: what ends meanwhile does not wait for the
   * answer, and a job that ends at once spares the question.
   */
  async #sleep(): Promise<void> {
    const nap = this.#nap
    if (!nap || nap.asked || this.#scheduled) return
    nap.asked = true
    try {
      const ms = await this.#wake.restFor(nap.longestMs)
      if (this.#nap === nap) this.#wake.wakeAfter(ms)
      this.#failures = 0
    } catch (error) {
      if (this.#nap === nap) this.#fail(error as Error)
    }
  }

  /**
   * Sends the outcomes at hand and fetches jobs for the free slots, in one call where there are both.
   * @returns false if leases could not be confirmed, or outcomes not sent, and so nothing could be claimed
   */
  async #exchange(): Promise<boolean> {
    const { storage } = this.#options
    const canClaim = (await this.#outcomes.resend()) && (this.#stopping || (await this.#leases.confirm()))
    if (!canClaim) this.#hungry = true
    const batch = this.#outcomes.take()
    const outcomes = batch.map(({ outcome }) => outcome)
    const free = this.#stopping || !canClaim ? 0 : this.#freeSlots
    try {
      if (free > 0 && (this.#hungry || batch.length > 0)) {
        // A hint that comes before the answer may be of a job that this claim did not see.
        this.#hungry = false
        const askedAt = this.#options.clock.monotonic()
        this.#asked += free
        // Slots are left for another claim, and the last one found as much as it asked for.
        if (this.#plenty && this.#freeSlots > 0) this.#look()
        const claim = await storage.claim(this.#request(free, outcomes)).finally(() => (this.#asked -= free))
        this.#outcomes.report(batch, claim.settled)
        this.#plenty = claim.jobs.length === free
        this.#hungry ||= this.#plenty
        this.#receive(claim, askedAt)
      } else if (batch.length > 0) {
        this.#outcomes.report(batch, await storage.settle(outcomes))
      }
    } catch (error) {
      this.#outcomes.putBack(batch)
      throw error
    }
    const hasRoom = canClaim && !this.#stopping && this.#freeSlots > 0
    const { waiting, resendMs } = this.#outcomes
    // Something is left to send or to claim.
    if (waiting > 0 || resendMs === 0 || (this.#hungry && hasRoom)) this.#again = true
    return canClaim
  }

  /** For the next claim. */
  get #freeSlots(): number {
    const { concurrency } = this.#options
    const taken = this.#leases.size + this.#asked + this.#trailing + this.#rests.size
    return Math.min(concurrency - taken, Math.ceil(concurrency / this.#lanes))
  }

  /** The types take turns at being first. */
  #request(slots: number, outcomes: readonly Outcome[]): ClaimRequest {
    const { label, types } = this.#options
    const first = this.#claims++ % types.length
    const inTurn = first === 0 ? types : [...types.slice(first), ...types.slice(0, first)]
    return {
      worker: `${this.#id}/${this.#claims}`,
      label,
      slots,
      outcomes,
      types: inTurn.map(({ type, leaseMs, maxAttempts }) => ({ type, leaseMs, maxAttempts })),
    }
  }

  // ── attempts ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #receive({ jobs, recovered, ended }: Claim, askedAt: number): void {
    const { tell } = this.#options
    for (const { type, id } of recovered) tell({ name: 'stalled', type, id })
    tellEnded(ended, this.#works, tell)
    const now = this.#options.clock.monotonic()
    for (const job of jobs) this.#begin(job, askedAt, now)
  }

  #begin(job: ClaimedJob, askedAt: number, now: number): void {
    const work = this.#works.get(job.type)!
    const attempt = new Attempt(job, work, now, askedAt)
    this.#leases.add(attempt, now)
    // Claimed while stop() was called: it goes back as if nothing had been.
    if (this.#stopping) return this.#end(attempt, { ending: { kind: 'released' } })
    if (work.tellsStarts || isWatched()) {
      this.#options.tell({ name: 'started', type: job.type, id: job.id, attempt: attempt.counted, job })
    }
    void work.run(attempt).then((end) => this.#end(attempt, end))
  }

  #end(attempt: Attempt, end: AttemptEnd): void {
    if (attempt.decided) return void end.after?.(undefined)
    attempt.decided = true
    attempt.endedAt = this.#options.clock.monotonic()
    this.#leases.delete(attempt)
    if (this.#options.slotPauseMs > 0 && !this.#stopping) this.#rest()
    const told = end.after ? this.#trail(end) : end
    if (end.verdict) this.#outcomes.reportSettled(attempt, told, end.verdict)
    else if (attempt.lost) void told.after?.(undefined)
    else this.#outcomes.push(attempt, told)
    this.#schedule()
    this.#onQuiet?.()
  }

  /** Keeps the slot until what follows the record has ended. */
  #trail(end: AttemptEnd): AttemptEnd {
    this.#trailing++
    return {
      ...end,
      after: async (verdict) => {
        await end.after!(verdict)
        this.#trailing--
        this.#schedule()
        this.#onQuiet?.()
      },
    }
  }

  #rest(): void {
    const rest = this.#options.clock.after(this.#options.slotPauseMs, () => {
      this.#rests.delete(rest)
      this.#look()
    })
    this.#rests.add(rest)
  }

  /** The slot is free at once; what its handler still does is of no consequence. */
  #giveUp(attempt: Attempt): void {
    attempt.abort('timeout')
    const { maxAttempts = Infinity } = attempt.work
    const isLast = attempt.counted >= (attempt.job.maxAttempts ?? maxAttempts)
    const payload = attempt.work.payloadOf(attempt.job.payload)
    this.#end(attempt, { ending: { kind: isLast ? 'failed' : 'retry', stalled: true }, payload })
  }

  // ── stopping ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Waits until it is so, or the time is over. */
  async #quiet(ms: number, isSo: () => boolean): Promise<void> {
    if (isSo()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = this.#options.clock.after(ms, resolve)
    this.#onQuiet = () => {
      if (isSo()) resolve()
    }
    await promise
    this.#onQuiet = undefined
    timer.cancel()
  }
}
