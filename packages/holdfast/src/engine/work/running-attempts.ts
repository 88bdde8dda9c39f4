// The attempts that run in this worker, each in a slot. The heartbeat renews their leases together: one extend per period,
// whatever their number. The same timer ends attempts that run longer than they may.
// Invariant: an attempt whose lease cannot be renewed is aborted before the lease ends in the storage. Its local end is counted
// from before each call.

import { atMost, type Clock, type Timer } from '../../clock.ts'
import type { PublishEvent } from '../events.ts'
import { engineDefaults } from '../defaults.ts'
import type { GuardedStorage } from '../guard.ts'
import type { LeaseVerdict, Refusal } from '../../storage/storage.ts'
import type { Attempt } from './attempt.ts'
import { publishProgress } from './outcome-events.ts'
import { ReportsInFlight } from './reports.ts'

export interface RunningAttemptsOptions {
  readonly storage: Pick<GuardedStorage, 'extend'>
  readonly clock: Clock
  readonly publishEvent: PublishEvent
  /** Called when an attempt reached its longest run. */
  onCap(attempt: Attempt): void
}

/** A blocked event loop is noticed by the lateness of the timer. It fires so many times in the shortest stall that is told. */
const ticksPerStall = 4

/** The shortest stall that is told of an attempt: the heartbeat comes so often, or should. And that of the shortest lease. */
const shortestStallMs = 16
const stallMsOf = ({ work }: Attempt): number => work.leaseMs / 3

/** Pause before a renewal is tried again that failed, or met a locked record, in ms. */
const renewRetryMs = 1_000

export class RunningAttempts {
  readonly #options: RunningAttemptsOptions
  /** Each knows its index. A Set would be made anew every few attempts of a worker with one slot. */
  #running: Attempt[] = []
  #timer: Timer | undefined
  #firesAt = Infinity
  #renewAt = Infinity
  #renewing = false
  /** Whether the last renewal failed for some attempts. */
  #isUnconfirmed = false
  /** The attempt that ended last: it may have blocked the event loop itself. */
  #lastEnded: Attempt | undefined
  #reportTimer: Timer | undefined
  #stopped = false

  constructor(options: RunningAttemptsOptions) {
    this.#options = options
  }

  /** Slots in use. A lost attempt keeps its slot until its handler ends. */
  get size(): number {
    return this.#running.length
  }

  /** Handlers that go on although another worker has the job, or it ended. */
  get abandoned(): number {
    let count = 0
    for (const { lost } of this.#running) if (lost) count++
    return count
  }

  /** Those that run now: they may end while they are iterated over. */
  [Symbol.iterator](): Iterator<Attempt> {
    return [...this.#running].values()
  }

  add(attempt: Attempt, now: number): void {
    attempt.index = this.#running.push(attempt) - 1
    if (attempt.renewAt < this.#renewAt) this.#renewAt = attempt.renewAt
    const at = Math.min(this.#renewAt, attempt.capAt, now + stallMsOf(attempt) / ticksPerStall)
    if (at < this.#firesAt) this.#arm(at, now)
  }

  /** Keeps the timer: the next attempt may come before it fires, and an early tick does no harm. */
  delete(attempt: Attempt): void {
    this.#lastEnded = attempt
    const { index } = attempt
    if (this.#running[index] !== attempt) return
    const last = this.#running.pop()!
    if (last === attempt) return
    this.#running[index] = last
    last.index = index
  }

  /** Sends what attempts report with the next renewal, or in `reportMs` by one call for all of them. */
  sendReportsSoon(): void {
    if (this.#stopped) return
    this.#reportTimer ??= this.#options.clock.after(engineDefaults.reportMs, () => {
      this.#reportTimer = undefined
      const reporting = this.#running.filter(({ report, locked, lost }) => report && !locked && !lost)
      if (reporting.length > 0) void this.#extend(reporting)
    })
  }

  /** Renews the leases of these jobs at once, to learn what happened to them. Undefined: of all. */
  recheck(ids: readonly string[] | undefined): void {
    const concerned = this.#running.filter(({ job, locked }) => !locked && (!ids || ids.includes(job.id)))
    if (concerned.length > 0) void this.#extend(concerned)
  }

  /**
   * Renews leases that are about to end. To be called before a claim: it would take back a job of this worker whose lease is
   * over, after an outage or when the event loop was blocked.
   * @returns false if the storage did not confirm them
   */
  async confirm(): Promise<boolean> {
    if (this.#running.length === 0) return true
    // Half a period early: a claim takes time, and clocks differ a little. A lease that ends with the cap cannot be renewed.
    const now = this.#options.clock.monotonic()
    const late = this.#running.filter(
      ({ leaseEndsAt, capAt, lost, locked, renewMs }) =>
        leaseEndsAt <= now + renewMs / 2 && leaseEndsAt < capAt && !lost && !locked,
    )
    return late.length === 0 || this.#extend(late)
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#reportTimer?.cancel()
    this.#running = []
  }

  /** Time between two renewals: the shortest of the attempts that run. */
  get #periodMs(): number {
    let shortest = Infinity
    for (const { renewMs } of this.#running) shortest = Math.min(shortest, renewMs)
    return shortest
  }

  get #firstRenewAt(): number {
    let first = Infinity
    for (const { renewAt } of this.#running) first = Math.min(first, renewAt)
    return first
  }

  #arm(at: number, now: number): void {
    this.#timer?.cancel()
    if (this.#stopped) return
    this.#firesAt = at
    this.#timer = this.#options.clock.after(at - now, () => this.#tick())
  }

  #tick(): void {
    const { clock, onCap } = this.#options
    const now = clock.monotonic()
    this.#publishStall(now - this.#firesAt)
    this.#firesAt = Infinity
    // One that ends here makes room for others, which begin at once.
    for (const attempt of this) if (attempt.capAt <= now && !attempt.decided) onCap(attempt)
    if (this.#running.length === 0) {
      this.#renewAt = Infinity
      return
    }
    // If only the event loop was late, the storage is asked first: the lease may still be valid.
    if (this.#renewing || this.#isUnconfirmed) this.#abortExpired(now)
    if (!this.#renewing && this.#renewAt <= now) {
      // The attempt that the timer was set for may have ended.
      this.#renewAt = this.#firstRenewAt
      if (this.#renewAt <= now) void this.#renew(now)
    }
    this.#arm(this.#nextAt(now), now)
  }

  /** Publishes that the event loop was blocked for more than a third of a lease. @param lateMs how late the timer was */
  #publishStall(lateMs: number): void {
    const last = this.#lastEnded
    this.#lastEnded = undefined
    if (lateMs < shortestStallMs) return
    const ran = this.#running.length > 0 ? this.#running : last ? [last] : []
    if (!ran.some((attempt) => lateMs > stallMsOf(attempt))) return
    const types = [...new Set(ran.map(({ job }) => job.type))]
    this.#options.publishEvent({ name: 'loop_stalled', ms: lateMs, types })
  }

  #nextAt(now: number): number {
    let at = this.#renewing ? now + this.#periodMs : this.#renewAt
    for (const attempt of this.#running) {
      const { capAt, leaseEndsAt, locked } = attempt
      at = Math.min(at, capAt, now + stallMsOf(attempt) / ticksPerStall)
      if (leaseEndsAt > now && !locked) at = Math.min(at, leaseEndsAt)
    }
    return at
  }

  async #renew(now: number): Promise<void> {
    this.#renewing = true
    const periodMs = this.#periodMs
    this.#renewAt = now + periodMs
    const soon = now + Math.min(renewRetryMs, periodMs)
    // A call that hangs must not delay the next one. Its verdicts are applied when they come.
    const extending = this.#extend(this.#running.filter(({ locked }) => !locked))
    const isConfirmed = (await atMost(this.#options.clock, periodMs, extending)) && (await extending)
    this.#renewing = false
    this.#isUnconfirmed = !isConfirmed
    if (!isConfirmed) this.#renewAt = Math.min(this.#renewAt, soon)
    if (!this.#stopped && this.#running.length > 0 && this.#renewAt < this.#firesAt) {
      this.#arm(this.#renewAt, this.#options.clock.monotonic())
    }
  }

  /** @returns false if some leases are to be renewed again soon */
  async #extend(attempts: readonly Attempt[]): Promise<boolean> {
    const { storage, clock, publishEvent } = this.#options
    let isConfirmed = true
    for (let start = 0; start < attempts.length; start += engineDefaults.batch) {
      const batch = attempts.slice(start, start + engineDefaults.batch)
      const now = clock.monotonic()
      const leaseOf = ({ work, capAt }: Attempt): number => Math.max(1, Math.min(work.leaseMs, Math.ceil(capAt - now)))
      const reports = new ReportsInFlight()
      try {
        const verdicts = await storage.extend(
          batch.map((attempt, index) => ({
            ...attempt.fence,
            leaseMs: leaseOf(attempt),
            ...reports.take(attempt, index),
          })),
        )
        batch.forEach((attempt, index) => {
          isConfirmed = this.#apply(attempt, verdicts[index]!, now, now + leaseOf(attempt)) && isConfirmed
        })
        this.#endReports(reports, (index) => 'until' in verdicts[index]!)
      } catch (error) {
        isConfirmed = false
        this.#endReports(reports, () => false)
        publishEvent({ name: 'error', error: error as Error })
        this.#abortExpired(clock.monotonic())
      }
    }
    return isConfirmed
  }

  /** A report that was not stored waits for the next call. What gathered meanwhile is sent soon. */
  #endReports(reports: ReportsInFlight, isStored: (index: number) => boolean): void {
    reports.end(isStored, (attempt, report) => {
      publishProgress(attempt, report, this.#options.publishEvent)
      if (attempt.report) this.sendReportsSoon()
    })
  }

  #apply(attempt: Attempt, verdict: LeaseVerdict, now: number, leaseEndsAt: number): boolean {
    switch (verdict.verdict) {
      case 'busy':
        return false
      case 'cancelling':
        attempt.renewed(now, leaseEndsAt)
        attempt.abort('cancelled', verdict.reason)
        return true
      case 'extended':
        attempt.renewed(now, leaseEndsAt)
        if (attempt.work.publishesStarts) this.#publish('renewed', attempt)
        return true
      default:
        this.#lose(attempt, verdict.verdict)
        return true
    }
  }

  /** The storage refused the fence: the signal aborts, and the outcome will be dropped. */
  #lose(attempt: Attempt, verdict: Refusal): void {
    // A locked attempt may be refused because its own transaction has just ended it.
    if (attempt.decided || attempt.lost || attempt.locked) return
    attempt.lost = true
    attempt.abort(verdict)
    const { type, id } = attempt.job
    this.#options.publishEvent({ name: 'fenced', type, id, attempt: attempt.counted, verdict })
  }

  #abortExpired(now: number): void {
    for (const attempt of this) {
      if (attempt.leaseEndsAt > now || attempt.locked || attempt.abortedFor) continue
      attempt.abort('error')
      if (attempt.work.publishesStarts) this.#publish('lease_expired', attempt)
    }
  }

  #publish(name: 'renewed' | 'lease_expired', { job, counted }: Attempt): void {
    this.#options.publishEvent({ name, type: job.type, id: job.id, attempt: counted, job })
  }
}
