// The attempts that run in this worker, each in a slot. The heartbeat renews their leases together: one extend per period,
// whatever their number. The same timer ends attempts that run longer than they may.
// Invariant: an attempt whose lease cannot be renewed is aborted before the lease ends in the storage. Its local end is counted
// from before each call.

import { atMost, type Clock, type Timer } from '../../clock.ts'
import type { Tell } from '../events.ts'
import { engineDefaults } from '../defaults.ts'
import type { GuardedStorage } from '../guard.ts'
import type { LeaseVerdict, Refusal } from '../../storage/storage.ts'
import type { Attempt } from './attempt.ts'

export interface RunningAttemptsOptions {
  readonly storage: Pick<GuardedStorage, 'extend'>
  readonly clock: Clock
  readonly tell: Tell
  /** Called when an attempt reached its longest run. */
  onCap(attempt: Attempt): void
}

/** Pause before a renewal is tried again that failed, or met a locked record, in ms. */
const renewRetryMs = 1_000

export class RunningAttempts {
  readonly #options: RunningAttemptsOptions
  readonly #running = new Set<Attempt>()
  #timer: Timer | undefined
  #firesAt = Infinity
  #renewAt = Infinity
  #renewing = false
  /** Whether the last renewal failed for some attempts. */
  #isUnconfirmed = false
  #stopped = false

  constructor(options: RunningAttemptsOptions) {
    this.#options = options
  }

  /** Slots in use. A lost attempt keeps its slot until its handler ends. */
  get size(): number {
    return this.#running.size
  }

  [Symbol.iterator](): Iterator<Attempt> {
    return this.#running.values()
  }

  add(attempt: Attempt, now: number): void {
    this.#running.add(attempt)
    // Counted from the start of the lease: when the claim was sent.
    const renewAt = attempt.leaseEndsAt - attempt.work.leaseMs + attempt.work.renewMs
    if (renewAt < this.#renewAt) this.#renewAt = renewAt
    const at = Math.min(this.#renewAt, attempt.capAt)
    if (at < this.#firesAt) this.#arm(at, now)
  }

  /** Keeps the timer: the next attempt may come before it fires, and an early tick does no harm. */
  delete(attempt: Attempt): void {
    this.#running.delete(attempt)
  }

  /** Renews the leases of these jobs at once, to learn what happened to them. Undefined: of all. */
  recheck(ids: readonly string[] | undefined): void {
    const concerned = [...this.#running].filter(({ job, locked }) => !locked && (!ids || ids.includes(job.id)))
    if (concerned.length > 0) void this.#extend(concerned)
  }

  /**
   * Renews leases that are about to end. To be called before a claim: it would take back a job of this worker whose lease is
   * over, after an outage or when the event loop was blocked.
   * @returns false if the storage did not confirm them
   */
  async confirm(): Promise<boolean> {
    // Half a period early: a claim takes time, and clocks differ a little. A lease that ends with the cap cannot be renewed.
    const now = this.#options.clock.monotonic()
    const late = [...this.#running].filter(
      ({ leaseEndsAt, capAt, lost, locked, work }) =>
        leaseEndsAt <= now + work.renewMs / 2 && leaseEndsAt < capAt && !lost && !locked,
    )
    return late.length === 0 || this.#extend(late)
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#running.clear()
  }

  /** Time between two renewals: the shortest of the attempts that run. */
  get #periodMs(): number {
    let shortest = Infinity
    for (const { work } of this.#running) shortest = Math.min(shortest, work.renewMs)
    return shortest
  }

  #arm(at: number, now: number): void {
    this.#timer?.cancel()
    if (this.#stopped) return
    this.#firesAt = at
    this.#timer = this.#options.clock.after(at - now, () => this.#tick())
  }

  #tick(): void {
    const { clock, tell, onCap } = this.#options
    const periodMs = this.#periodMs
    const now = clock.monotonic()
    const lateMs = now - this.#firesAt
    if (lateMs > periodMs && this.#running.size > 0) {
      tell({ name: 'loop_stalled', ms: lateMs, types: [...new Set([...this.#running].map(({ job }) => job.type))] })
    }
    this.#firesAt = Infinity
    for (const attempt of this.#running) if (attempt.capAt <= now) onCap(attempt)
    if (this.#running.size === 0) {
      this.#renewAt = Infinity
      return
    }
    // If only the event loop was late, the storage is asked first: the lease may still be valid.
    if (this.#renewing || this.#isUnconfirmed) this.#abortExpired(now)
    if (!this.#renewing && this.#renewAt <= now) void this.#renew(now)
    this.#arm(this.#nextAt(now), now)
  }

  #nextAt(now: number): number {
    let at = this.#renewing ? now + this.#periodMs : this.#renewAt
    for (const { capAt, leaseEndsAt, locked } of this.#running) {
      at = Math.min(at, capAt)
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
    const extending = this.#extend([...this.#running].filter(({ locked }) => !locked))
    const isConfirmed = (await atMost(this.#options.clock, periodMs, extending)) && (await extending)
    this.#renewing = false
    this.#isUnconfirmed = !isConfirmed
    if (!isConfirmed) this.#renewAt = Math.min(this.#renewAt, soon)
    if (!this.#stopped && this.#running.size > 0 && this.#renewAt < this.#firesAt) {
      this.#arm(this.#renewAt, this.#options.clock.monotonic())
    }
  }

  /** @returns false if some leases are to be renewed again soon */
  async #extend(attempts: readonly Attempt[]): Promise<boolean> {
    const { storage, clock, tell } = this.#options
    let isConfirmed = true
    for (let start = 0; start < attempts.length; start += engineDefaults.batch) {
      const batch = attempts.slice(start, start + engineDefaults.batch)
      const now = clock.monotonic()
      const leaseOf = ({ work, capAt }: Attempt): number => Math.max(1, Math.min(work.leaseMs, Math.ceil(capAt - now)))
      try {
        const verdicts = await storage.extend(batch.map((attempt) => ({ ...attempt.fence, leaseMs: leaseOf(attempt) })))
        batch.forEach((attempt, index) => {
          isConfirmed = this.#apply(attempt, verdicts[index]!, now + leaseOf(attempt)) && isConfirmed
        })
      } catch (error) {
        isConfirmed = false
        tell({ name: 'error', error: error as Error })
        this.#abortExpired(clock.monotonic())
      }
    }
    return isConfirmed
  }

  #apply(attempt: Attempt, verdict: LeaseVerdict, leaseEndsAt: number): boolean {
    // Answers may come out of order: an older one must not shorten the lease.
    const latest = Math.max(attempt.leaseEndsAt, leaseEndsAt)
    switch (verdict.verdict) {
      case 'busy':
        return false
      case 'cancelling':
        attempt.leaseEndsAt = latest
        attempt.abort('cancelled')
        return true
      case 'extended':
        attempt.leaseEndsAt = latest
        if (attempt.work.tellsStarts) this.#publish('renewed', attempt)
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
    this.#options.tell({ name: 'fenced', type, id, attempt: attempt.counted, verdict })
  }

  #abortExpired(now: number): void {
    for (const attempt of this.#running) {
      if (attempt.leaseEndsAt > now || attempt.locked || attempt.abortedFor) continue
      attempt.abort('error')
      if (attempt.work.tellsStarts) this.#publish('lease_expired', attempt)
    }
  }

  #publish(name: 'renewed' | 'lease_expired', { job, counted }: Attempt): void {
    this.#options.tell({ name, type: job.type, id: job.id, attempt: counted, job })
  }
}
