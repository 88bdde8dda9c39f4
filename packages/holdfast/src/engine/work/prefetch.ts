// Jobs that a worker holds ahead: they are leased before a slot is free, so that a slot with short handlers takes its next job
// without waiting for the storage. storage/rules/job/ahead.ts has the rules of such leases.
//
// Invariants: a job is held for `prefetchMs` at most, then it goes back to the storage without an attempt. What was held longest
// starts first. Nothing is held while handlers are long: the number to hold doubles while what is held starts in a quarter of
// `prefetchMs`, halves when it takes more than half of it, and falls to 0 when an attempt takes as long, or jobs had to go back.

import type { Clock, Timer } from '../../clock.ts'
import { aheadLeaseMs } from '../../storage/rules/job/ahead.ts'
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
  readonly heldSince: number
  /** Whether it is the last one of its claim. */
  readonly isLast: boolean
}

/** Short attempts in a row, at least, before anything is held. */
const minShort = 4

export class Prefetch {
  readonly #options: PrefetchOptions
  readonly #shortMs: number
  #held: HeldJob[] = []
  /** Index of the first one in `#held`: those before it have started. */
  #first = 0
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
    return this.#held.length - this.#first
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
    const heldSince = this.#options.clock.monotonic()
    jobs.forEach((job, index) => this.#held.push({ job, sentAt, heldSince, isLast: index === jobs.length - 1 }))
    if (this.#stopped) this.#returnAll()
    else this.#armTimer()
  }

  /** The job to start next. Undefined: none is held, or the event loop was blocked for so long that their leases may be over. */
  take(now: number): HeldJob | undefined {
    const held = this.#held[this.#first]
    if (!held) return undefined
    if (now > held.sentAt + aheadLeaseMs / 2) return void this.#giveUp()
    this.#first++
    if (this.#first === this.#held.length) {
      this.#held = []
      this.#first = 0
    }
    if (held.isLast) this.#adapt(now - held.heldSince)
    return held
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
    const held = this.#held.slice(this.#first)
    const returned = held.filter(({ job }) => ids.includes(job.id))
    if (returned.length === 0) return
    this.#held = held.filter(({ job }) => !ids.includes(job.id))
    this.#first = 0
    this.#options.onReturn(returned)
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
    const first = this.#held[this.#first]
    if (this.#timer || !first) return
    const { clock, prefetchMs } = this.#options
    this.#timer = clock.after(first.heldSince + prefetchMs - clock.monotonic(), () => {
      this.#timer = undefined
      const next = this.#held[this.#first]
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
    const returned = this.#held.slice(this.#first)
    this.#held = []
    this.#first = 0
    if (returned.length > 0) this.#options.onReturn(returned)
  }
}
