// One run of a job in this worker: its lease, its signal, and whether this worker may still end it.

import { AttemptAbortedError, type AttemptSignal, invalidArgument, type JobAbortReason } from '../../errors.ts'
import { isObject } from '../../option-checks.ts'
import type { ClaimedJob, LeaseRef, Report } from '../../storage/storage.ts'
import { encodeLine } from '../job/log-lines.ts'
import { encodeProgress, ReportBuffer } from './reports.ts'
import type { WorkType } from './work-type.ts'

/** What a worker does for its attempts. */
export interface AttemptHost {
  /** Local, monotonic ms. */
  now(): number
  /** Called when an attempt has something to report. */
  onReport(): void
  /** Called when an attempt timed out while its handler still runs. */
  onAbandoned(attempt: Attempt, handler: Promise<unknown>): void
}

/** Between two lines that are logged in one millisecond. */
const shortestMs = 2 ** -10

export class Attempt {
  readonly job: ClaimedJob
  readonly work: WorkType
  /** Attempts that count, this one included: failures + 1. */
  readonly counted: number
  /** Its index among the attempts that run (running-attempts.ts). */
  index = -1
  /** When it began: local, monotonic ms. */
  readonly startedAt: number
  endedAt = 0
  /** When it times out: local, monotonic ms. Infinity: never. */
  readonly capAt: number
  /** The earliest instant at which its lease may end, and when it is to be renewed: local, monotonic ms. */
  leaseEndsAt: number
  renewAt: number
  /** Length of its lease while that is the short one of a job that was held ahead or handed over, in ms. */
  #shortLeaseMs: number | undefined
  abortedFor: JobAbortReason | undefined = undefined
  /** The reason that cancel() was given, with `abortedFor` 'cancelled'. */
  cancelReason: string | undefined = undefined
  /** Whether its outcome is decided, by its handler or by the worker. A later one is dropped. */
  decided = false
  /** Whether the storage refused its fence: another worker has the job, or it ended. Nothing is recorded then. */
  lost = false
  /** What `work.run` returned. */
  running: Promise<unknown> | undefined = undefined
  /** What it reported and no call has sent; and what a call in flight carries. Undefined for most attempts: they report nothing. */
  report: ReportBuffer | undefined = undefined
  sending: { readonly report: ReportBuffer; readonly answered: Promise<void> } | undefined = undefined

  // Chains only:
  /** Whether a transaction has its record locked. That lock is its lease: it is not renewed, and it cannot be lost. */
  locked = false
  /** Called when `signal` aborts, with the reason. */
  onAbort: ((reason: JobAbortReason) => void) | undefined = undefined
  /** Called when the worker decided the outcome, not the handler. */
  onDecided: (() => void) | undefined = undefined

  #controller: AbortController | undefined
  readonly #host: AttemptHost
  #lastLineAt = 0

  /**
   * @param leasedAt when the claim was sent: the lease began at that instant or later
   * @param shortLeaseMs length of the lease of a job that was held ahead or handed over
   */
  constructor(
    job: ClaimedJob,
    work: WorkType,
    host: AttemptHost,
    startedAt: number,
    leasedAt = startedAt,
    shortLeaseMs?: number,
  ) {
    this.job = job
    this.work = work
    this.#host = host
    this.counted = job.failures + 1
    this.startedAt = startedAt
    this.#shortLeaseMs = shortLeaseMs
    const isShort = shortLeaseMs !== undefined
    this.capAt = (isShort ? startedAt : leasedAt) + (work.hasOwnTimer ? work.capMs : (job.timeoutMs ?? work.capMs))
    this.leaseEndsAt = leasedAt + (shortLeaseMs ?? work.leaseMs)
    this.renewAt = isShort ? startedAt + (this.leaseEndsAt - startedAt) / 4 : leasedAt + this.renewMs
  }

  /** Created when it is read: most handlers never read it. */
  get signal(): AttemptSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.abortedFor) this.#controller.abort(this.#reasonOf(this.abortedFor))
    }
    return this.#controller.signal
  }

  get fence(): LeaseRef {
    const { type, id, worker, attempt } = this.job
    return { type, id, worker, attempt }
  }

  /** Time between two renewals of its lease, in ms. */
  get renewMs(): number {
    return this.#shortLeaseMs === undefined ? this.work.renewMs : this.#shortLeaseMs / 4
  }

  /** The storage renewed its lease. @param now when that was asked for */
  renewed(now: number, leaseEndsAt: number): void {
    this.#shortLeaseMs = undefined
    // Answers may come out of order: an older one must not shorten the lease.
    this.leaseEndsAt = Math.max(this.leaseEndsAt, leaseEndsAt)
    this.renewAt = Math.max(this.renewAt, now + this.renewMs)
  }

  /** Whether it was decided or lost: what its handler does is dropped. */
  get isOver(): boolean {
    return this.decided || this.lost
  }

  /** Now, by the storage's clock: as far as this process knows. */
  get storageNow(): number {
    return Math.floor(this.job.startedAt + this.#host.now() - this.startedAt)
  }

  /** Reports progress; the last one stays. Dropped once the attempt is over. @throws as encodeProgress */
  progress(value: unknown): void {
    const bytes = encodeProgress(value)
    if (this.isOver) return
    this.report ??= new ReportBuffer()
    this.report.setProgress(value, bytes)
    this.#host.onReport()
  }

  /** Adds a line to the log of the job. Dropped once the attempt is over. @throws TypeError INVALID_ARGUMENT */
  log(text: string, fields?: Readonly<Record<string, unknown>>): void {
    if (typeof text !== 'string') throw invalidArgument('log', 'a text', text)
    if (fields !== undefined) isObject('log fields', fields)
    if (this.isOver) return
    this.report ??= new ReportBuffer()
    // No two lines of an attempt have one instant: it tells a repeated report from a new one (`Report` of the contract).
    this.#lastLineAt = Math.max(this.storageNow, this.#lastLineAt + shortestMs)
    this.report.addLine(this.#lastLineAt, encodeLine(text, fields))
    this.#host.onReport()
  }

  /** To be called when it timed out. @param handler what its handler returned; it may have ended */
  abandon(handler: unknown): void {
    if (handler instanceof Promise) this.#host.onAbandoned(this, handler)
  }

  /** What no settle or extend has certainly stored. Undefined: nothing. */
  get unstored(): Report | undefined {
    const { report, sending } = this
    if (!sending) return report?.toReport()
    return (report?.after(sending.report) ?? sending.report).toReport()
  }

  /** Aborts the signal. The first reason stays. */
  abort(reason: JobAbortReason, cancelReason?: string): void {
    if (this.abortedFor) return
    this.abortedFor = reason
    this.cancelReason = cancelReason
    this.#controller?.abort(this.#reasonOf(reason))
    this.onAbort?.(reason)
  }

  #reasonOf(reason: JobAbortReason): AttemptAbortedError {
    return new AttemptAbortedError(reason, this.job.id, this.counted, this.cancelReason)
  }
}
