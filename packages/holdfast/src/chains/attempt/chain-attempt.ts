// One attempt at a job of a chain, as its steps share it: what was claimed, what it is run with, and how far it has come.

import type { Backoff } from '../../engine/job/backoff.ts'
import type { Attempt } from '../../engine/work/attempt.ts'
import type { ErrorAnswer } from '../../engine/work/decision.ts'
import { type ErrorCode, HoldfastError, type JobAbortReason, LeaseLostError } from '../../errors.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Completing } from '../job/completion.ts'
import type { PlainRunningJob } from '../job/records.ts'
import type { OpenTransaction } from '../transactions/open-transaction.ts'
import type { TransactionSlots } from '../transactions/transaction-slots.ts'

/** What the jobs of one type are run with. */
export interface Processor {
  readonly process: (context: object) => Promise<unknown>
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly leaseMs: number
  readonly timeoutMs: number | undefined
  readonly maxSnoozes: number
  readonly onError: ((error: unknown, job: unknown) => ErrorAnswer | Promise<ErrorAnswer>) | undefined
}

/** A callback of prepare() or complete(). */
export type Callback = (context: object) => unknown

/** After these reasons the attempt is over. After `error` and `stopping` its outcome is still sent, and the fence decides. */
export const endsAttempt = (reason: JobAbortReason): boolean => reason !== 'error' && reason !== 'stopping'

export class ChainAttempt {
  /** The engine's side of it: lease, signal and fence. */
  readonly attempt: Attempt
  readonly job: PlainRunningJob
  readonly processor: Processor
  readonly dependencies: Dependencies
  readonly slots: TransactionSlots
  /** What the handler returned. */
  handler: Promise<unknown> | undefined
  isPrepared = false
  completing: Promise<Completing> | undefined
  /** The transaction that an atomic prepare and complete share. */
  transaction: OpenTransaction | undefined
  /** Why the attempt cannot complete any more: its transaction is gone, with what was written in it. */
  broken: { readonly error: unknown; readonly isTooLong?: true } | undefined
  /** The handler has resolved: nothing interrupts the settle. */
  isSettling = false
  /** What the attempt ended with, if it did not complete. */
  thrown: unknown
  readonly #over = Promise.withResolvers<never>()

  constructor(
    attempt: Attempt,
    job: PlainRunningJob,
    processor: Processor,
    dependencies: Dependencies,
    slots: TransactionSlots,
  ) {
    this.attempt = attempt
    this.job = job
    this.processor = processor
    this.dependencies = dependencies
    this.slots = slots
    this.over.catch(() => {})
    attempt.onAbort = (reason) => {
      if (endsAttempt(reason)) this.rollBack(this.leaseLost(reason))
    }
    attempt.onDecided = () => this.end(this.leaseLost('stopping'))
  }

  /** Rejects when the attempt is over for another reason than its handler. */
  get over(): Promise<never> {
    return this.#over.promise
  }

  /** Ends the attempt from outside, as if its handler had thrown the error. */
  end(error: unknown): void {
    if (this.isSettling) return
    this.rollBack(error)
    this.#over.reject(error)
  }

  /** Rolls back the open transaction at once: nothing will commit it. */
  rollBack(error: unknown): void {
    if (!this.isSettling) void this.transaction?.rollBack(error)
  }

  get about() {
    return { typeName: this.job.typeName, jobId: this.job.id, attempt: this.job.attempt }
  }

  error(code: ErrorCode, what: string): HoldfastError {
    const { typeName, id, attempt } = this.job
    return new HoldfastError(code, `job '${id}' of '${typeName}', attempt ${attempt}: ${what}`, this.about)
  }

  leaseLost(reason: JobAbortReason): LeaseLostError {
    return new LeaseLostError({ ...this.about, reason })
  }
}
