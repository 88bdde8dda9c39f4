// The attempts that run here, each in a slot. Their leases are kept alive together: one extend per period, whatever the number of running attempts. The same timer watches
// how long each may run. Invariant: an attempt whose lease may be over is told so before its lease ends, by our own clock.

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
  /** The attempt ran for as long as it may. */
  onCap(attempt: Attempt): void
}

/** How soon a renewal that failed, or met a lock, is tried again. */
const renewAgainMs = 1_000

export class RunningAttempts {
  readonly #options: RunningAttemptsOptions
  readonly #running = new Set<Attempt>()
  #timer: Timer | undefined
  #firesAt = Infinity
  #renewAt = Infinity
  #renewing = false
  /** The last renewal did not come through for all. */
  #unanswered = false
  #stopped = false

  constructor(options: RunningAttemptsOptions) {
    this.#options = options
  }

  /** Slots in use: a lost attempt has one too, until its handler ends. */
  get size(): number {
    return this.#running.size
  }

  [Symbol.iterator](): Iterator<Attempt> {
    return this.#running.values()
  }

  add(attempt: Attempt, now: number): void {
    this.#running.add(attempt)
    // From when its lease began, which is when the claim was sent.
    const renewAt = attempt.leaseEndsAt - attempt.work.leaseMs + attempt.work.renewMs
    if (renewAt < this.#renewAt) this.#renewAt = renewAt
    const at = Math.min(this.#renewAt, attempt.capAt)
    if (at < this.#firesAt) this.#arm(at, now)
  }

  /** The timer is left alone: it finds nothing to do, and the next attempt may come before that. */
  delete(attempt: Attempt): void {
    this.#running.delete(attempt)
  }

  /** A hint that something happened to these jobs: asks the storage at once. */
  look(ids: readonly string[] | undefined): void {
    const concerned = [...this.#running].filter(({ job, locked }) => !locked && (!ids || ids.includes(job.id)))
    if (concerned.length > 0) void this.#extend(concerned)
  }

  /**
   * To be asked before a claim, which would take back a job of our own if its lease is over: after an outage, or when the
   * event loop was blocked. False: the storage did not say that they are ours.
   */
  async confirm(): Promise<boolean> {
    // A claim takes its time, and clocks differ a little. A lease that ends with the cap cannot be renewed.
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

  /** Between two renewals: the shortest of those that run. */
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
    // If only the loop was late, the storage is asked before a lease is believed lost.
    if (this.#renewing || this.#unanswered) this.#abortExpired(now)
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
    const soon = now + Math.min(renewAgainMs, periodMs)
    // A call that hangs must not keep the next from going out; its verdicts are heeded when they come.
    const extending = this.#extend([...this.#running].filter(({ locked }) => !locked))
    const answered = (await atMost(this.#options.clock, periodMs, extending)) && (await extending)
    this.#renewing = false
    this.#unanswered = !answered
    if (!answered) this.#renewAt = Math.min(this.#renewAt, soon)
    if (!this.#stopped && this.#running.size > 0 && this.#renewAt < this.#firesAt) {
      this.#arm(this.#renewAt, this.#options.clock.monotonic())
    }
  }

  /** False if some of them are to be asked about again soon. */
  async #extend(attempts: readonly Attempt[]): Promise<boolean> {
    const { storage, clock, tell } = this.#options
    let answered = true
    for (let start = 0; start < attempts.length; start += engineDefaults.batch) {
      const batch = attempts.slice(start, start + engineDefaults.batch)
      const now = clock.monotonic()
      const leaseOf = ({ work, capAt }: Attempt): number => Math.max(1, Math.min(work.leaseMs, Math.ceil(capAt - now)))
      try {
        const verdicts = await storage.extend(batch.map((attempt) => ({ ...attempt.fence, leaseMs: leaseOf(attempt) })))
        batch.forEach((attempt, index) => {
          answered = this.#heed(attempt, verdicts[index]!, now + leaseOf(attempt)) && answered
        })
      } catch (error) {
        answered = false
        tell({ name: 'error', error: error as Error })
        this.#abortExpired(clock.monotonic())
      }
    }
    return answered
  }

  #heed(attempt: Attempt, verdict: LeaseVerdict, leaseEndsAt: number): boolean {
    // The answer to an older extend may come after that to a newer one, and takes nothing away from it.
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
        if (attempt.work.tellsStarts) this.#tellOf('renewed', attempt)
        return true
      default:
        this.#lose(attempt, verdict.verdict)
        return true
    }
  }

  /** Somebody else ended it or has it: its handler is told, and its outcome will be dropped. */
  #lose(attempt: Attempt, verdict: Refusal): void {
    // A transaction of its own that ends it may be what the storage saw.
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
      if (attempt.work.tellsStarts) this.#tellOf('lease_expired', attempt)
    }
  }

  #tellOf(name: 'renewed' | 'lease_expired', { job, counted }: Attempt): void {
    this.#options.tell({ name, type: job.type, id: job.id, attempt: counted, job })
  }
}
