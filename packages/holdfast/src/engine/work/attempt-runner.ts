// Begins the attempts of a worker and ends them. Invariant: an attempt ends once. What its handler does later is dropped.

import type { Clock } from '../../clock.ts'
import { handedLeaseMs } from '../../storage/rules/job/handed.ts'
import type { Claim, ClaimedJob, Ending } from '../../storage/storage.ts'
import { isWatched, type PublishEvent } from '../events.ts'
import type { AbandonedHandlers } from './abandoned-handlers.ts'
import { Attempt, type AttemptHost } from './attempt.ts'
import type { ConditionVariable } from './condition-variable.ts'
import type { DeadLetters } from './dead-letters.ts'
import { publishEnded, stalledError } from './outcome-events.ts'
import type { Offers } from './offers.ts'
import type { AttemptEnd, Outcomes } from './outcomes.ts'
import { type HeldJob, lastHandedStart, type Prefetch } from './prefetch.ts'
import type { RunningAttempts } from './running-attempts.ts'
import type { Slots } from './slots.ts'
import type { OnAttemptEnd, WorkType } from './work-type.ts'

export interface AttemptRunnerOptions {
  readonly clock: Clock
  readonly types: readonly WorkType[]
  readonly running: RunningAttempts
  readonly abandoned: AbandonedHandlers
  readonly deadLetters: DeadLetters
  readonly slots: Slots
  readonly prefetch: Prefetch
  readonly offers: Offers
  readonly outcomes: Outcomes
  /** Notified when an attempt ends, and when a slot becomes free. */
  readonly changed: ConditionVariable
  readonly publishEvent: PublishEvent
  /** Called when there is an outcome to send, or a slot is free. */
  onEnd(): void
}

/** Held jobs that start in one pass of the event loop, at most: handlers that never wait must not keep answers from being read. */
const startsPerPass = 32

export class AttemptRunner {
  readonly #options: AttemptRunnerOptions
  readonly #types: ReadonlyMap<string, WorkType>
  readonly #host: AttemptHost
  #stopping = false
  /** Held jobs that started in this pass of the event loop. */
  #starts = 0

  constructor(options: AttemptRunnerOptions) {
    this.#options = options
    this.#types = new Map(options.types.map((work) => [work.type, work]))
    const { clock, running, abandoned } = options
    this.#host = {
      now: () => clock.monotonic(),
      onReport: () => running.sendReportsSoon(),
      onAbandoned: (attempt, handler) => abandoned.watch(attempt, handler),
    }
  }

  /** From now on, claimed jobs are released without being run. */
  stop(): void {
    this.#stopping = true
  }

  /** Begins the jobs of a claim, and publishes what it took back or ended. */
  receive(claim: Claim, sentAt: number): void {
    this.#publishTaken(claim)
    const now = this.#options.clock.monotonic()
    for (const job of claim.jobs) this.#begin(job, sentAt, now)
    // One that was handed over may have come before this answer, which has freed its slot.
    if (this.#options.prefetch.size > 0) this.#startHeld(now)
  }

  /** Begins a job that was handed over, if a slot is free. Otherwise it is held. @param sentAt when the claim that offered it was sent */
  receiveHanded(job: ClaimedJob, sentAt: number): void {
    const { clock, prefetch, slots } = this.#options
    const now = clock.monotonic()
    const isNext = prefetch.size === 0 && slots.free > 0 && this.#starts < startsPerPass
    if (isNext && !this.#stopping && now <= lastHandedStart(sentAt)) {
      // Nearly always: it need not be held first.
      if (this.#starts++ === 0) clock.soon(this.#nextPass)
      return this.#begin(job, sentAt, now, handedLeaseMs)
    }
    prefetch.putHanded(job, sentAt)
    this.#startHeld(now)
  }

  /** Holds the jobs of a claim until a slot is free. */
  receiveAhead(claim: Claim, sentAt: number): void {
    this.#publishTaken(claim)
    this.#options.prefetch.put(claim.jobs, sentAt)
    this.#startHeld(this.#options.clock.monotonic())
  }

  /** Releases jobs that were held ahead. */
  releaseHeld(held: readonly HeldJob[]): void {
    const { outcomes, clock, onEnd } = this.#options
    const now = clock.monotonic()
    for (const { job, sentAt, leaseMs } of held) {
      const attempt = new Attempt(job, this.#types.get(job.type)!, this.#host, now, sentAt, leaseMs)
      attempt.decided = true
      attempt.endedAt = now
      outcomes.push(attempt, { ending: { kind: 'released' } })
    }
    onEnd()
  }

  #publishTaken({ recovered, ended }: Claim): void {
    const { publishEvent, deadLetters } = this.#options
    for (const { type, id } of recovered) publishEvent({ name: 'stalled', type, id })
    if (ended.length > 0) {
      publishEnded(ended, this.#types, publishEvent)
      deadLetters.addFor(ended)
    }
  }

  /** Starts held jobs in the free slots. */
  #startHeld(now: number): void {
    const { prefetch, slots, clock } = this.#options
    while (prefetch.size > 0 && slots.free > 0 && this.#starts < startsPerPass) {
      if (this.#starts++ === 0) clock.soon(this.#nextPass)
      if (!prefetch.startNext(now, this.#beginHeld)) return
      // A handler that does not wait takes time.
      if (slots.free > 0) now = clock.monotonic()
    }
  }

  readonly #beginHeld = (job: ClaimedJob, sentAt: number, now: number, leaseMs: number): void =>
    this.#begin(job, sentAt, now, leaseMs)

  readonly #nextPass = (): void => {
    this.#starts = 0
    this.#startHeld(this.#options.clock.monotonic())
  }

  /** Ends an attempt that reached its longest run. Its slot is free at once; its handler may go on, without effect. */
  timeOut(attempt: Attempt): void {
    attempt.abort('timeout')
    attempt.abandon(attempt.running)
    const { work, job } = attempt
    const isLast = attempt.counted >= (job.maxAttempts ?? work.maxAttempts ?? Infinity)
    const payload = work.payloadOf(job.payload)
    const ending = isLast ? stalledForGood(attempt) : ({ kind: 'retry', stalled: true } as const)
    this.#end(attempt, { ending, payload })
  }

  abortAll(): void {
    for (const attempt of this.#options.running) attempt.abort('stopping')
  }

  /** Releases every attempt that still runs: its job goes back without a failure. */
  releaseAll(): void {
    for (const attempt of this.#options.running) {
      this.#end(attempt, { ending: { kind: 'released' } })
      attempt.onDecided?.()
    }
  }

  #begin(job: ClaimedJob, sentAt: number, now: number, shortLeaseMs?: number): void {
    const { running, publishEvent } = this.#options
    const work = this.#types.get(job.type)!
    const attempt = new Attempt(job, work, this.#host, now, sentAt, shortLeaseMs)
    running.add(attempt, now)
    // Claimed while stop() was called.
    if (this.#stopping) return this.#end(attempt, { ending: { kind: 'released' } })
    if (work.publishesStarts || isWatched()) {
      publishEvent({ name: 'started', type: job.type, id: job.id, attempt: attempt.counted, job })
    }
    attempt.running = work.run(attempt, this.#end)
  }

  readonly #end: OnAttemptEnd = (attempt, end) => {
    if (attempt.decided) return void end.after?.(undefined)
    const { clock, running, slots, prefetch, offers, outcomes, changed, onEnd } = this.#options
    attempt.decided = true
    attempt.endedAt = clock.monotonic()
    running.delete(attempt)
    prefetch.noteEnd(attempt.endedAt - attempt.startedAt)
    offers.noteEnd(attempt.endedAt - attempt.startedAt)
    if (!this.#stopping) slots.pause()
    const held = end.after ? this.#holdSlot(end) : end
    if (end.verdict) outcomes.reportSettled(attempt, held, end.verdict)
    else if (attempt.lost) void held.after?.(undefined)
    else outcomes.push(attempt, held)
    this.#startHeld(attempt.endedAt)
    onEnd()
    changed.notify()
  }

  /** Keeps the slot until `after` has ended. */
  #holdSlot(end: AttemptEnd): AttemptEnd {
    const { clock, slots, changed, onEnd } = this.#options
    slots.hold()
    return {
      ...end,
      after: async (verdict) => {
        await end.after!(verdict)
        slots.unhold()
        this.#startHeld(clock.monotonic())
        onEnd()
        changed.notify()
      },
    }
  }
}

/** With its dead letter, if its type has them. */
function stalledForGood({ work, job, counted, storageNow }: Attempt): Ending {
  const { id, payload } = job
  const failed = { id, payload, error: stalledError(id), attempts: counted, failedAt: storageNow }
  const add = work.deadLetterOf && [work.deadLetterOf(failed)]
  return { kind: 'failed', stalled: true, ...(add && { add }) }
}
