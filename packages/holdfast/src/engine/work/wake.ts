// When the next claim is sent: at a hint, at the next due instant, or at the fallback poll, whichever is first. Hints may be lost.

import type { Clock, Timer } from '../../clock.ts'
import { engineDefaults } from '../defaults.ts'
import type { GuardedStorage } from '../guard.ts'
import type { Claim, ClaimedJob, Signal, Unlisten } from '../../storage/storage.ts'
import type { LimitsCopy } from '../limits/limits-copy.ts'
import { claimTypes, type WorkType } from './work-type.ts'

export interface WakeOptions {
  readonly storage: Pick<GuardedStorage, 'listen' | 'nextDueAt'>
  readonly clock: Clock
  readonly types: readonly WorkType[]
  readonly limits: LimitsCopy | undefined
  /** Fallback poll in ms. Infinity: hints alone. */
  readonly pollMs: number
  /** Called when a claim may find jobs. */
  onWake(): void
  /** Called with a job that was handed over. @returns false if it was to another worker */
  onHanded(job: ClaimedJob): boolean
  /** Called when something may have happened to these running jobs. Undefined: to any. */
  onAbort(ids: readonly string[] | undefined): void
}

export class Wake {
  readonly #options: WakeOptions
  readonly #pollMs: number
  #timer: Timer | undefined
  /** When the timer should fire: local, monotonic ms. */
  #firesAt = Infinity
  /** The earliest end of a lease of a job that was handed over to another worker, and that no timer has reached: local, monotonic ms. */
  #handedUntil = Infinity
  readonly #unlisten: Unlisten[] = []
  #stopped = false

  constructor(options: WakeOptions) {
    this.#options = options
    const leases = options.types.map(({ leaseMs }) => leaseMs)
    // Never longer than a lease: so every lease, of any worker, is seen before it ends.
    this.#pollMs = options.pollMs === Infinity ? Infinity : Math.min(options.pollMs, ...leases)
  }

  /** To be called before the first claim, so that no hint is lost between the two. */
  async listen(): Promise<void> {
    const { storage, types } = this.#options
    const topics = types.flatMap(({ type }) => [
      { kind: 'wake' as const, type },
      { kind: 'abort' as const, type },
    ])
    const unlisten = await storage.listen(topics, (signal) => this.#receive(signal))
    this.#unlisten.push(unlisten)
    try {
      if (!this.#stopped) await this.#listenForLimits()
    } catch (error) {
      await this.#endListening().catch(() => {})
      throw error
    }
    if (this.#stopped) await this.#endListening()
  }

  /** Limits that were set or raised may let jobs start now. Not with the others: a notifier carries hints about jobs alone. */
  async #listenForLimits(): Promise<void> {
    const { limits, onWake } = this.#options
    const unlisten = await limits?.listen(onWake)
    if (unlisten) this.#unlisten.push(unlisten)
  }

  async #endListening(): Promise<void> {
    await Promise.all(this.#unlisten.splice(0).map((unlisten) => unlisten()))
  }

  /**
   * Time until the next due instant or the fallback poll, in ms; at most `maxMs`.
   * @param nextDue as the last claim returned it; undefined: the storage is asked
   */
  async idleMs(maxMs: number, nextDue: Claim['nextDue']): Promise<number> {
    const { storage, clock, types, limits } = this.#options
    const due = nextDue === undefined ? await storage.nextDueAt(claimTypes(types, limits)) : (nextDue ?? undefined)
    // A job is due, and yet the claim before this found none: another call has it locked.
    const dueMs = due === undefined ? Infinity : due.at > due.now ? due.at - due.now : engineDefaults.lockedMs
    const pollMs = this.#pollMs * (1 - clock.random() / 10)
    return Math.min(dueMs, pollMs, maxMs)
  }

  /** Wakes after this time, or by an earlier hint. */
  wakeAfter(ms: number): void {
    const { clock, onWake } = this.#options
    this.#timer?.cancel()
    if (this.#stopped) return
    const now = clock.monotonic()
    this.#firesAt = Math.max(now, Math.min(now + ms, this.#handedUntil))
    this.#timer = clock.after(this.#firesAt - now, () => {
      if (this.#firesAt >= this.#handedUntil) this.#handedUntil = Infinity
      this.#firesAt = Infinity
      onWake()
    })
  }

  /**
   * A job that another worker has can be claimed when its lease ends, unless that worker starts it. Kept until then: the answer of a claim
   * that is under way may say that nothing is due, if the storage had it before the add.
   */
  #receiveHanded(job: ClaimedJob): void {
    if (this.#options.onHanded(job)) return
    const ms = job.leaseUntil - job.startedAt
    const at = this.#options.clock.monotonic() + ms
    this.#handedUntil = Math.min(this.#handedUntil, at)
    if (this.#firesAt > at) this.wakeAfter(ms)
  }

  /** How much the timer is overdue, in ms: the event loop was blocked, or the process was suspended. */
  get lateMs(): number {
    return Math.max(0, this.#options.clock.monotonic() - this.#firesAt)
  }

  cancel(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#firesAt = Infinity
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.cancel()
    await this.#endListening()
  }

  #receive(signal: Signal): void {
    if (signal.handed) return this.#receiveHanded(signal.handed)
    if (signal.kind === 'abort' || signal.gap) this.#options.onAbort(signal.ids)
    if (signal.kind === 'wake' || signal.gap) this.#options.onWake()
  }
}
