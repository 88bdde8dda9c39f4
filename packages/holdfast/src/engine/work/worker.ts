// The loop: look, run what was found, send what came of it, sleep. It goes in rounds, each one exchange with the storage:
//
//   a hint, an outcome, a timer ─► #schedule ─► #round ─► #exchange (claim, or settle) ─► #begin each job
//                                      ▲          └─ something is left to do: #schedule; nothing: #planNextLook
//                                      └── #end of an attempt
//
// One round is under way at a time, but for outcomes that cannot be sent (outcomes.ts): meanwhile outcomes gather, and the
// next claim takes them along, so the slower the storage, the larger the batches. A storage on a server asks for more lanes
// (settings.claimsInFlight): then a worker with many slots has as many claims under way, each for its share of the slots.
// Longer than other files: what decides when the next round comes is in one place.

import { atMost, type Clock } from '../../clock.ts'
import { isWatched, type Tell } from '../events.ts'
import { type Backoff, delayAfter } from '../job/backoff.ts'
import { engineDefaults } from '../defaults.ts'
import type { GuardedStorage } from '../guard.ts'
import type { Claim, ClaimedJob, ClaimRequest, Outcome } from '../../storage/storage.ts'
import { Sweeper } from '../upkeep/sweep.ts'
import { Attempt } from './attempt.ts'
import { RunningAttempts } from './running-attempts.ts'
import { type AttemptEnd, Outcomes, tellEnded } from './outcomes.ts'
import { Slots } from './slots.ts'
import { Wake } from './wake.ts'
import type { WorkType } from './work-type.ts'

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

/** Before another look, when the storage did not confirm what this worker holds. */
const unconfirmedMs = 1_000

export class Worker {
  readonly #options: WorkerOptions
  readonly #works: ReadonlyMap<string, WorkType>
  readonly #running: RunningAttempts
  readonly #slots: Slots
  readonly #outcomes: Outcomes
  readonly #wake: Wake
  readonly #sweeper: Sweeper
  /** With the number of the call, no two leases are ever alike, whatever the label. */
  readonly #id: string
  #claims = 0
  #stopping = false
  #onQuiet: (() => void) | undefined

  // Rounds: one is to come; so many are under way; and one is to follow those.
  #roundScheduled = false
  #roundsRunning = 0
  #roundFollows = false
  /** Rounds that failed, one after the other. */
  #failures = 0

  // What a round knows of the storage: there may be something to claim; and the last claim got as much as it asked for.
  #mayFindMore = true
  #foundAll = false
  /** What the last exchange told of the next due instant, if it did. */
  #nextDue: Claim['nextDue']
  /** Nothing is left to do: to sleep, no longer than this, until a round says otherwise. */
  #nap: { readonly longestMs: number; isAsking: boolean } | undefined

  constructor(options: WorkerOptions) {
    const { storage, clock, types, tell, label, pollMs, concurrency } = options
    this.#options = options
    this.#id = `${label}/${clock.newId()}`
    this.#works = new Map(types.map((work) => [work.type, work]))
    this.#outcomes = new Outcomes({ storage, clock, tell, onRetried: () => this.#schedule() })
    this.#running = new RunningAttempts({ storage, clock, tell, onCap: (attempt) => this.#giveUp(attempt) })
    this.#slots = new Slots({
      clock,
      concurrency,
      claimsInFlight: storage.settings.claimsInFlight ?? 1,
      pauseMs: options.slotPauseMs,
      running: this.#running,
      onFree: () => this.#look(),
    })
    this.#wake = new Wake({
      storage,
      clock,
      types,
      pollMs,
      onWake: () => this.#look(),
      onAbort: (ids) => this.#running.look(ids),
    })
    this.#sweeper = new Sweeper({ storage, clock, tell })
  }

  /** Resolves after the first look, once it is known when the next one comes. */
  async start(): Promise<void> {
    const { label, tell } = this.#options
    await this.#wake.listen()
    if (this.#stopping) return
    this.#sweeper.start()
    tell({ name: 'worker_online', label, types: [...this.#works.keys()] })
    await this.#round()
    await this.#planNextLook()
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
    this.#slots.stop()
    const isDone = (): boolean => this.#slots.areQuiet
    await this.#quiet(graceMs, isDone)
    if (!isDone()) {
      for (const attempt of this.#running) attempt.abort('stopping')
      await this.#quiet(afterAbortMs, isDone)
      for (const attempt of this.#running) {
        this.#end(attempt, { ending: { kind: 'released' } })
        attempt.onDecided?.()
      }
    }
    const deadline = clock.monotonic() + writesMs
    this.#schedule()
    await this.#quiet(writesMs, () => this.#roundsRunning === 0 && !this.#roundScheduled && this.#outcomes.size === 0)
    this.#running.stop()
    await atMost(clock, deadline - clock.monotonic(), this.#wake.stop()).catch(() => {})
    tell({ name: 'worker_offline', label, types: [...this.#works.keys()] })
    return Math.max(0, deadline - clock.monotonic())
  }

  // ── rounds ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  #look(): void {
    this.#mayFindMore = true
    this.#schedule()
  }

  /** At the next pass of the event loop, so that outcomes that come together leave together. */
  #schedule(): void {
    if (this.#roundScheduled || !this.#hasLane) {
      this.#roundFollows = true
      return
    }
    this.#roundScheduled = true
    this.#options.clock.soon(() => {
      this.#roundScheduled = false
      // A hint may come before the first round, which start() takes by itself.
      if (this.#hasLane) void this.#round()
      else this.#roundFollows = true
    })
  }

  /** Nothing is under way; or there is a lane beside the claims that are, and the storage has taken all there was. */
  get #hasLane(): boolean {
    if (this.#roundsRunning === 0) return true
    const claiming = this.#roundsRunning < this.#slots.lanes && this.#slots.areAsked
    return claiming && !this.#stopping && this.#outcomes.size === this.#outcomes.waiting
  }

  async #round(): Promise<void> {
    this.#roundsRunning++
    this.#nap = undefined
    let canClaim = false
    let hasFailed = false
    try {
      canClaim = await this.#exchange()
    } catch (error) {
      hasFailed = true
      this.#fail(error as Error)
    }
    this.#roundsRunning--
    if (this.#roundFollows) {
      if (!hasFailed) this.#failures = 0
      this.#roundFollows = false
      this.#schedule()
      // Only now it is known who is the last: two whose answers came together would each leave it to the other.
    } else if (this.#roundsRunning === 0 && !hasFailed) {
      this.#windDown(canClaim)
    }
    this.#onQuiet?.()
  }

  /** Nothing is left to do now. With a free slot, the next due instant is slept for; else an outcome, or the leases. */
  #windDown(canClaim: boolean): void {
    const { resendMs } = this.#outcomes
    if (canClaim && !this.#stopping && this.#slots.free > 0) {
      this.#nap = { longestMs: resendMs, isAsking: false }
      this.#options.clock.soon(() => void this.#planNextLook())
    } else {
      this.#failures = 0
      this.#wake.wakeAfter(canClaim ? resendMs : Math.min(resendMs, unconfirmedMs))
    }
  }

  /** The storage is in trouble: look again after a pause, a longer one each time. */
  #fail(error: Error): void {
    const { tell, loopBackoff, clock } = this.#options
    tell({ name: 'error', error })
    this.#mayFindMore = true
    this.#roundFollows = false
    const pauseMs = delayAfter(loopBackoff, ++this.#failures, error, clock, () => {})
    // Outcomes that came back wait for no look.
    this.#wake.wakeAfter(Math.min(pauseMs, Math.max(this.#outcomes.resendMs, engineDefaults.retryMs)))
  }

  /**
   * Asks when something is due, and sleeps until then. No part of a round: what ends meanwhile does not wait for the
   * answer, and a job that ends at once spares the question.
   */
  async #planNextLook(): Promise<void> {
    const nap = this.#nap
    if (!nap || nap.isAsking || this.#roundScheduled) return
    nap.isAsking = true
    try {
      const ms = await this.#wake.sleepMs(nap.longestMs, this.#nextDue)
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
    const canClaim = (await this.#outcomes.resend()) && (this.#stopping || (await this.#running.confirm()))
    if (!canClaim) this.#mayFindMore = true
    const batch = this.#outcomes.take()
    const outcomes = batch.map(({ outcome }) => outcome)
    const free = this.#stopping || !canClaim ? 0 : this.#slots.free
    try {
      if (free > 0 && (this.#mayFindMore || batch.length > 0)) {
        // A hint that comes before the answer may be of a job that this claim did not see.
        this.#mayFindMore = false
        const sentAt = this.#options.clock.monotonic()
        this.#slots.ask(free)
        // With several lanes: slots are left for another claim, and the last one found as much as it asked for.
        if (this.#foundAll && this.#slots.free > 0) this.#look()
        const claim = await storage.claim(this.#request(free, outcomes)).finally(() => this.#slots.answered(free))
        this.#outcomes.report(batch, claim.settled)
        this.#foundAll = claim.jobs.length === free
        this.#nextDue = claim.nextDue
        this.#mayFindMore ||= this.#foundAll
        this.#receive(claim, sentAt)
      } else if (batch.length > 0) {
        this.#outcomes.report(batch, await storage.settle(outcomes))
        this.#nextDue = undefined
      }
    } catch (error) {
      this.#outcomes.putBack(batch)
      throw error
    }
    const hasRoom = canClaim && !this.#stopping && this.#slots.free > 0
    const { waiting, resendMs } = this.#outcomes
    // Something is left to send or to claim.
    if (waiting > 0 || resendMs === 0 || (this.#mayFindMore && hasRoom)) this.#roundFollows = true
    return canClaim
  }

  /** Each time another type is the first. */
  #request(slots: number, outcomes: readonly Outcome[]): ClaimRequest {
    const { label, types } = this.#options
    const first = this.#claims++ % types.length
    const rotated = first === 0 ? types : [...types.slice(first), ...types.slice(0, first)]
    return {
      worker: `${this.#id}/${this.#claims}`,
      label,
      slots,
      outcomes,
      types: rotated.map(({ type, leaseMs, maxAttempts }) => ({ type, leaseMs, maxAttempts })),
    }
  }

  // ── attempts ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #receive({ jobs, recovered, ended }: Claim, sentAt: number): void {
    const { tell } = this.#options
    for (const { type, id } of recovered) tell({ name: 'stalled', type, id })
    tellEnded(ended, this.#works, tell)
    const now = this.#options.clock.monotonic()
    for (const job of jobs) this.#begin(job, sentAt, now)
  }

  #begin(job: ClaimedJob, sentAt: number, now: number): void {
    const work = this.#works.get(job.type)!
    const attempt = new Attempt(job, work, now, sentAt)
    this.#running.add(attempt, now)
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
    this.#running.delete(attempt)
    if (!this.#stopping) this.#slots.pause()
    const told = end.after ? this.#trail(end) : end
    if (end.verdict) this.#outcomes.reportSettled(attempt, told, end.verdict)
    else if (attempt.lost) void told.after?.(undefined)
    else this.#outcomes.push(attempt, told)
    this.#schedule()
    this.#onQuiet?.()
  }

  /** Keeps the slot until what follows the record has ended. */
  #trail(end: AttemptEnd): AttemptEnd {
    this.#slots.trail()
    return {
      ...end,
      after: async (verdict) => {
        await end.after!(verdict)
        this.#slots.trailed()
        this.#schedule()
        this.#onQuiet?.()
      },
    }
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
