// A worker: claims jobs of its types, runs them in its slots, and records what came of them. This file puts the parts together,
// starts them and stops them in order:
//
//   Wake ──► Rounds ──► Exchange ──► AttemptRunner ──► Outcomes ──► the next exchange
//   when      the loop   the call     handlers          results
//                           └──► Prefetch ──┘
//                         what is held ahead of a free slot
//
// RunningAttempts renews the leases of what runs; Slots counts what may run; Sweeper deletes expired records; Presence lists the
// worker among the others.

import { atMost, type Clock } from '../../clock.ts'
import { engineDefaults } from '../defaults.ts'
import type { PublishEvent } from '../events.ts'
import type { GuardedStorage } from '../guard.ts'
import type { WorkerState } from '../health.ts'
import { HistoryRecorder } from '../history/recorder.ts'
import type { Backoff } from '../job/backoff.ts'
import type { LimitsCopy } from '../limits/limits-copy.ts'
import { Sweeper } from '../upkeep/sweep.ts'
import type { StorageSettings } from '../../storage/storage.ts'
import { AbandonedHandlers } from './abandoned-handlers.ts'
import { AttemptRunner } from './attempt-runner.ts'
import { ConditionVariable } from './condition-variable.ts'
import { DeadLetters } from './dead-letters.ts'
import { Exchange } from './exchange.ts'
import { Offers } from './offers.ts'
import { Outcomes } from './outcomes.ts'
import { Prefetch } from './prefetch.ts'
import { Presence } from './presence.ts'
import { Rounds } from './rounds.ts'
import { RunningAttempts } from './running-attempts.ts'
import { Slots } from './slots.ts'
import { Wake } from './wake.ts'
import type { WorkType } from './work-type.ts'

export interface WorkerOptions {
  readonly storage: GuardedStorage
  readonly clock: Clock
  /** Name of the worker for people, in records and events. */
  readonly label: string
  readonly concurrency: number
  readonly types: readonly WorkType[]
  /** The limits of its types. Undefined: they have none. */
  readonly limits?: LimitsCopy | undefined
  /** Longest idle wait without a hint, in ms. Infinity: hints alone. */
  readonly pollMs: number
  /** How long a slot stays empty after an attempt, in ms. 0: not at all. */
  readonly slotPauseMs: number
  /** Longest time that a job is held ahead of a free slot, in ms. False: none is. Nor is one while slots have pauses. */
  readonly prefetchMs: number | false
  /** Pause between two claims while the storage fails. */
  readonly loopBackoff: Backoff
  /** Time between two writes of its presence, in ms. False: none. */
  readonly presenceMs: number | false
  readonly publishEvent: PublishEvent
}

export class Worker {
  readonly #options: WorkerOptions
  readonly #running: RunningAttempts
  readonly #slots: Slots
  readonly #prefetch: Prefetch
  readonly #wake: Wake
  readonly #sweeper: Sweeper
  readonly #presence: Presence
  readonly #history: HistoryRecorder | undefined
  readonly #attempts: AttemptRunner
  readonly #rounds: Rounds
  readonly #changed: ConditionVariable
  readonly #abandoned: AbandonedHandlers
  readonly #deadLetters: DeadLetters
  #stopping = false

  constructor(options: WorkerOptions) {
    const { storage, clock, types, limits, label, pollMs, concurrency, loopBackoff, presenceMs } = options
    // A worker that writes nothing while it is idle writes no history, either.
    const history = presenceMs === false ? undefined : new HistoryRecorder({ kv: storage.kv, clock })
    this.#history = history
    const publishEvent: PublishEvent = history
      ? (event) => {
          history.count(event)
          options.publishEvent(event)
        }
      : options.publishEvent
    const schedule = (): void => this.#rounds.schedule()
    const scheduleClaim = (): void => this.#rounds.scheduleClaim()
    this.#options = options
    const changed = (this.#changed = new ConditionVariable(clock))
    const abandoned = (this.#abandoned = new AbandonedHandlers({ clock, publishEvent }))
    const deadLetters = (this.#deadLetters = new DeadLetters({ storage, clock, types, publishEvent }))
    const outcomes = new Outcomes({ storage, clock, loopBackoff, publishEvent, onDelayed: schedule })
    const running = (this.#running = new RunningAttempts({
      storage,
      clock,
      publishEvent,
      onCap: (attempt) => this.#attempts.timeOut(attempt),
    }))
    const slots = (this.#slots = new Slots({
      clock,
      concurrency,
      claimsInFlight: storage.settings.claimsInFlight ?? 1,
      pauseMs: options.slotPauseMs,
      running,
      onFree: scheduleClaim,
    }))
    const prefetch = (this.#prefetch = new Prefetch({
      clock,
      concurrency,
      prefetchMs: prefetchMsOf(options, storage.settings),
      onReturn: (held) => this.#attempts.releaseHeld(held),
    }))
    const id = workerName(label, clock.newId())
    const offers = new Offers({
      clock,
      by: id,
      isOn: storage.features.handsOver === true && options.slotPauseMs === 0 && options.prefetchMs !== false,
    })
    const wake = (this.#wake = new Wake({
      storage,
      clock,
      types,
      limits,
      pollMs,
      onWake: scheduleClaim,
      onHanded: (job) => {
        const sentAt = offers.take(job)
        if (typeof sentAt === 'number') this.#attempts.receiveHanded(job, sentAt)
        return sentAt !== 'other'
      },
      onAbort: (ids) => {
        running.recheck(ids)
        prefetch.return(ids)
      },
    }))
    this.#sweeper = new Sweeper({ storage, clock, types, publishEvent, onEnded: (ended) => deadLetters.addFor(ended) })
    this.#attempts = new AttemptRunner({
      clock,
      types,
      running,
      abandoned,
      deadLetters,
      slots,
      prefetch,
      offers,
      outcomes,
      changed,
      publishEvent,
      onEnd: schedule,
    })
    const exchange = new Exchange({
      storage,
      clock,
      workerId: id,
      label,
      types,
      limits,
      offers,
      slots,
      prefetch,
      outcomes,
      running,
      settlesBeside: storage.settings.settlesBeside === true,
      onClaim: (claim, sentAt) => this.#attempts.receive(claim, sentAt),
      onClaimAhead: (claim, sentAt) => this.#attempts.receiveAhead(claim, sentAt),
      onSlotsLeft: scheduleClaim,
      onCallLeft: schedule,
    })
    this.#presence = new Presence({
      kv: storage.kv,
      clock,
      id,
      label,
      types,
      concurrency,
      transactions: pooledTransactions(storage),
      presenceMs,
      running,
      publishEvent,
    })
    this.#rounds = new Rounds({
      clock,
      exchange,
      offers,
      outcomes,
      slots,
      prefetch,
      wake,
      loopBackoff,
      changed,
      publishEvent,
    })
  }

  /** Handlers that go on although their attempts timed out. */
  get abandoned(): number {
    return this.#abandoned.size
  }

  /** Resolves after the first claim, once it is known when the next one comes. */
  async start(): Promise<void> {
    await this.#options.limits?.declare()
    await this.#wake.listen()
    if (this.#stopping) return
    this.#sweeper.start()
    this.#presence.start()
    this.#publish('worker_online')
    await this.#rounds.start()
  }

  /**
   * Claims no new job, lets handlers run for `graceMs`, aborts them, gives them `afterAbortMs` more, and releases what still runs.
   * Bounded in time, also when the storage does not answer.
   * @param options.writesMs time for outcomes that are still to be written, in ms; default 5_000
   * @returns what is left of `writesMs`
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
    const { clock } = this.#options
    this.#stopping = true
    this.#rounds.stop()
    this.#attempts.stop()
    this.#prefetch.stop()
    this.#sweeper.stop()
    this.#slots.stop()
    const areIdle = (): boolean => this.#slots.areIdle
    await this.#changed.wait(graceMs, areIdle)
    if (!areIdle()) {
      this.#attempts.abortAll()
      await this.#changed.wait(afterAbortMs, areIdle)
      this.#attempts.releaseAll()
    }
    const deadline = clock.monotonic() + writesMs
    this.#rounds.schedule()
    await this.#changed.wait(writesMs, () => this.#rounds.areDone)
    await this.#deadLetters.flush(Math.max(0, deadline - clock.monotonic()))
    this.#running.stop()
    this.#abandoned.stop()
    const stopped = Promise.all([this.#wake.stop(), this.#presence.stop(), this.#history?.flush()])
    await atMost(clock, deadline - clock.monotonic(), stopped).catch(() => {})
    this.#rounds.end()
    this.#options.storage.endRepeats()
    this.#publish('worker_offline')
    return Math.max(0, deadline - clock.monotonic())
  }

  /** What the worker knows about itself, for health(). No call to the storage. */
  get state(): WorkerState {
    return {
      slots: this.#options.concurrency,
      slotsUsed: this.#running.size,
      // Those whose attempt timed out, and those whose lease was lost.
      abandoned: this.#abandoned.size + this.#running.abandoned,
      claimsFailingMs: this.#rounds.failingMs,
      claimLateMs: this.#slots.free > 0 ? this.#rounds.lateMs : 0,
    }
  }

  #publish(name: 'worker_online' | 'worker_offline'): void {
    const { publishEvent, label, types } = this.#options
    publishEvent({ name, label, types: types.map(({ type }) => type) })
  }
}

/** A worker that pauses between jobs, or whose claims are large already, holds nothing ahead. */
function prefetchMsOf(
  { prefetchMs, slotPauseMs, concurrency }: Pick<WorkerOptions, 'prefetchMs' | 'slotPauseMs' | 'concurrency'>,
  { prefetchBelow = engineDefaults.prefetchBelow }: StorageSettings,
): number {
  return prefetchMs === false || slotPauseMs > 0 || concurrency >= prefetchBelow ? 0 : prefetchMs
}

/** Undefined without a pool: then transactions take turns anyway, or there are none. */
const pooledTransactions = ({ settings }: Pick<GuardedStorage, 'settings'>): number | undefined =>
  settings.exclusiveTransactions ? undefined : settings.openTransactions

/**
 * A long label, as the default is, is left out: the name stands in the record of each job, and would be a tenth of it on Postgres.
 * @param id unique by itself
 */
const workerName = (label: string, id: string): string => (label.length < id.length ? `${label}/${id}` : id)
