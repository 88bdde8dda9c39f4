// Jobs that a worker holds ahead: they are leased before a slot is free, so that a slot with short handlers takes its next job
// without waiting for the storage. storage/rules/job/ahead.ts has the rules of such leases.
//
// Invariants: a job is held for `prefetchMs` at most, then it goes back to the storage without an attempt. What was held longest
// starts first. Nothing is held while handlers are long: the number to hold doubles while what is held starts in a quarter of
// `prefetchMs`, halves when it takes more than half of it, and falls to 0 when an attempt takes as long, or jobs had to go back.

import type { Clock, Timer } from '../../clock.ts'
import { aheadLeaseMs } from '../../storage/rules/job/ahead.ts'
import { handedLeaseMs } from '../../storage/rules/job/handed.ts'
import type { ClaimedJob } from '../../storage/storage.ts'
import { engineDefaults } from '../defaults.ts'

export interface PrefetchOptions {
  readonly clock: Clock
  readonly concurrency: number
  /** Longest time that a job is held, in ms. 0: none is. */
  readonly prefetchMs: number
  /** Called with jobs that are to be released. */
  onReturn(jobs: readonly HeldJob[]): void
}

export interface HeldJob {
  readonly job: ClaimedJob
  /** When its claim was sent: local, monotonic ms. */
  readonly sentAt: number
  /** Length of its lease, in ms. */
  readonly leaseMs: number
}

type StartJob = (job: ClaimedJob, sentAt: number, now: number, leaseMs: number) => void

/** The jobs of one claim. */
interface HeldClaim {
  readonly jobs: readonly ClaimedJob[]
  /** Index of the first job that has not started. */
  first: number
  readonly sentAt: number
  readonly heldSince: number
  /** Length of their leases, in ms after `sentAt`; and until when they may start, local and monotonic. */
  readonly leaseMs: number
  readonly startBy: number
}

/** Time between the last start of a job that was handed over and the end of its lease, at least, in ms: for its first heartbeat. */
const handedMarginMs = 200

/** Until when a job that was handed over may start: local, monotonic ms. @param sentAt when the claim that offered it was sent */
export const lastHandedStart = (sentAt: number): number => sentAt + handedLeaseMs - handedMarginMs

/** Short attempts in a row, at least, before anything is held. */
const minShort = 4

export class Prefetch {
  readonly #options: PrefetchOptions
  readonly #shortMs: number
  /** Each has a job that has not started. */
  #held: HeldClaim[] = []
  /** Jobs in them that have not started. */
  #size = 0
  /** Number to hold. */
  #target = 0
  /** Short attempts since the last long one. */
  #short = 0
  /** Jobs that a claim in flight may bring. */
  #asked = 0
  #timer: Timer | undefined
  #stopped = false

  constructor(options: PrefetchOptions) {
    this.#options = options
    this.#shortMs = options.prefetchMs / 2
  }

  get size(): number {
    return this.#size
  }

  /** Jobs that are held, or that a claim in flight may bring. */
  get taken(): number {
    return this.size + this.#asked
  }

  /** Whether handlers are short. */
  get isActive(): boolean {
    return this.#target > 0
  }

  get hasClaimInFlight(): boolean {
    return this.#asked > 0
  }

  /** Half of the number to hold. */
  get half(): number {
    return Math.ceil(this.#target / 2)
  }

  /** How many jobs the next claim should bring. 0 while half of them are here or on their way: claims should be large. */
  get wanted(): number {
    const missing = this.#target - this.taken
    return missing > 0 && 2 * missing >= this.#target ? missing : 0
  }

  ask(count: number): void {
    this.#asked += count
  }

  /** To be called when the claim was answered, or failed. */
  answered(count: number): void {
    this.#asked -= count
  }

  put(jobs: readonly ClaimedJob[], sentAt: number): void {
    if (jobs.length > 0) this.#hold(jobs, sentAt, aheadLeaseMs, sentAt + aheadLeaseMs / 2)
  }

  /** Holds a job that was handed over, until a slot is free. @param sentAt when the claim that offered it was sent */
  putHanded(job: ClaimedJob, sentAt: number): void {
    this.#hold([job], sentAt, handedLeaseMs, lastHandedStart(sentAt))
  }

  #hold(jobs: readonly ClaimedJob[], sentAt: number, leaseMs: number, startBy: number): void {
    this.#held.push({ jobs, first: 0, sentAt, heldSince: this.#options.clock.monotonic(), leaseMs, startBy })
    this.#size += jobs.length
    if (this.#stopped) this.#returnAll()
    else this.#armTimer()
  }

  /**
   * Starts the next job. False: none is held, or the event loop was blocked for so long that their leases may be over.
   * @param start takes no object of its own per job: this is called for nearly every job of a busy worker
   */
  startNext(now: number, start: StartJob): boolean {
    const claim = this.#held[0]
    if (!claim) return false
    if (now > claim.startBy) {
      this.#giveUp()
      return false
    }
    const job = claim.jobs[claim.first++]!
    this.#size--
    if (claim.first === claim.jobs.length) {
      this.#held.shift()
      if (claim.leaseMs === aheadLeaseMs) this.#adapt(now - claim.heldSince)
    }
    start(job, claim.sentAt, now, claim.leaseMs)
    return true
  }

  /** Learns how long an attempt took. */
  noteEnd(ms: number): void {
    if (ms >= this.#shortMs) {
      this.#short = 0
      this.#target = 0
    } else if (this.#target === 0 && ++this.#short >= Math.max(minShort, this.#options.concurrency)) {
      this.#target = this.#options.concurrency
    }
  }

  /** Releases these jobs, if they are held. Undefined: all. */
  return(ids: readonly string[] | undefined): void {
    if (!ids) return this.#returnAll()
    const held = this.#held
    const wanted = held.flatMap(waitingOf).filter(({ job }) => ids.includes(job.id))
    if (wanted.length === 0) return
    this.#held = held.flatMap(({ jobs, first, ...claim }) => {
      const kept = jobs.slice(first).filter(({ id }) => !ids.includes(id))
      return kept.length > 0 ? [{ ...claim, jobs: kept, first: 0 }] : []
    })
    this.#size -= wanted.length
    this.#options.onReturn(wanted)
  }

  stop(): void {
    this.#stopped = true
    this.#target = 0
    this.#timer?.cancel()
    this.#returnAll()
  }

  /** @param heldMs how long the last job of a claim was held */
  #adapt(heldMs: number): void {
    const { prefetchMs } = this.#options
    if (this.#target === 0) return
    if (heldMs < prefetchMs / 4) this.#target = Math.min(2 * this.#target, engineDefaults.batch)
    else if (heldMs > prefetchMs / 2) this.#target = Math.max(1, this.#target >> 1)
  }

  #armTimer(): void {
    const first = this.#held[0]
    if (this.#timer || !first) return
    const { clock, prefetchMs } = this.#options
    this.#timer = clock.after(first.heldSince + prefetchMs - clock.monotonic(), () => {
      this.#timer = undefined
      const next = this.#held[0]
      if (next && clock.monotonic() >= next.heldSince + prefetchMs) this.#giveUp()
      else this.#armTimer()
    })
  }

  /** Handlers take longer than they did. */
  #giveUp(): void {
    this.#target = 0
    this.#short = 0
    this.#returnAll()
  }

  #returnAll(): void {
    const returned = this.#held.flatMap(waitingOf)
    this.#held = []
    this.#size = 0
    if (returned.length > 0) this.#options.onReturn(returned)
  }
}

const waitingOf = ({ jobs, first, sentAt, leaseMs }: HeldClaim): HeldJob[] =>
  jobs.slice(first).map((job) => ({ job, sentAt, leaseMs }))
