// Outcomes gather here and are sent together. An outcome that could not be sent is sent again until the storage gives a verdict.
// A failing storage never counts as a failure of the handler.

import type { Clock } from '../../clock.ts'
import type { AddVerdict, Ending, Outcome, SettleVerdict } from '../../storage/storage.ts'
import { engineDefaults } from '../defaults.ts'
import type { Tell } from '../events.ts'
import type { GuardedStorage } from '../guard.ts'
import type { Attempt } from './attempt.ts'
import { publishOutcome } from './outcome-events.ts'

// Re-exported: the faces import them from here.
export { blockerError, stalledError } from './outcome-events.ts'

/** How an attempt ended, with what only this process knows of it. */
export interface AttemptEnd {
  readonly ending: Ending
  /** The value that the handler returned, or that afterExecution put in its place. */
  readonly value?: unknown
  readonly error?: Error
  readonly payload?: unknown

  // Chains only:
  /** The verdict, if the outcome was settled already, in a transaction. */
  readonly verdict?: SettleVerdict
  /** The end to record instead, if the storage refused the jobs that the outcome adds. */
  instead?(added: readonly AddVerdict[]): AttemptEnd
  /**
   * Called with the verdict, or with undefined if nothing was recorded. The attempt keeps its slot until the promise resolves.
   * Never rejects.
   */
  after?(verdict: SettleVerdict | undefined): Promise<void>
}

interface PendingOutcome {
  readonly attempt: Attempt
  readonly end: AttemptEnd
  readonly outcome: Outcome
}

interface OutcomesOptions {
  readonly storage: Pick<GuardedStorage, 'settle' | 'nextDueAt'>
  readonly clock: Clock
  readonly tell: Tell
  /** Called after a refused outcome was sent again, beside the loop. */
  onRetried(): void
}

export class Outcomes {
  readonly #options: OutcomesOptions
  readonly #tell: Tell
  #waiting: PendingOutcome[] = []
  /** Outcomes of failed calls. One of them may be the cause, so they go apart from the others, and from claims. */
  #unsent: PendingOutcome[] = []
  /** Unsent outcomes per call: halved by each failure, doubled by each success. */
  #resendLimit: number = engineDefaults.batch
  #resendAt = 0
  #resendPauseMs: number = engineDefaults.retryMs
  /** Outcomes that the storage refuses although it answers. They have a timer of their own, so that no other waits for it. */
  #refused: PendingOutcome[] = []
  #isRetrying = false
  #retryAt = 0
  #retryPauseMs: number = engineDefaults.retryMs

  constructor(options: OutcomesOptions) {
    this.#options = options
    this.#tell = options.tell
  }

  /** Outcomes that are not recorded yet. */
  get size(): number {
    return this.#waiting.length + this.#unsent.length + this.#refused.length + (this.#isRetrying ? 1 : 0)
  }

  /** Outcomes that the next call can send. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Time until an outcome is to be sent again, in ms. Infinity: there is none. */
  get resendMs(): number {
    // Refused outcomes come after unsent ones: while the storage may be unavailable, they would only fail again.
    const hasUnsent = this.#unsent.length > 0
    if (!hasUnsent && (this.#refused.length === 0 || this.#isRetrying)) return Infinity
    return Math.max(0, (hasUnsent ? this.#resendAt : this.#retryAt) - this.#options.clock.monotonic())
  }

  push(attempt: Attempt, end: AttemptEnd): void {
    this.#waiting.push({ attempt, end, outcome: outcomeOf(attempt, end) })
  }

  take(): readonly PendingOutcome[] {
    if (this.#waiting.length > engineDefaults.batch) return this.#waiting.splice(0, engineDefaults.batch)
    const all = this.#waiting
    this.#waiting = []
    return all
  }

  /** Takes outcomes back whose call failed: they were not sent, or it is not known. */
  putBack(batch: readonly PendingOutcome[]): void {
    this.#unsent.push(...batch)
    if (batch.length > 0) this.#resendAt = 0
  }

  /**
   * Sends some unsent outcomes, if it is time.
   * @returns false while unsent ones are left. Then nothing may be claimed: the storage may just have recovered, and a claim
   * would take back jobs whose outcomes are here.
   */
  async resend(): Promise<boolean> {
    if (this.resendMs > 0) return this.#unsent.length === 0
    if (this.#unsent.length > 0) await this.#resend(this.#unsent.splice(0, this.#resendLimit))
    else void this.#retryRefused()
    return this.#unsent.length === 0
  }

  async #resend(batch: readonly PendingOutcome[]): Promise<void> {
    let sent = await this.#send(batch)
    if (!sent && batch.length === 1 && (await this.#isStorageAvailable())) {
      this.#resendPauseMs = engineDefaults.retryMs
      // The storage answers: a second failure in a row is caused by the outcome itself.
      sent = await this.#send(batch)
      if (!sent) return this.#refuse(batch)
    }
    if (sent) {
      this.#resendLimit = Math.min(2 * this.#resendLimit, engineDefaults.batch)
      this.#resendPauseMs = engineDefaults.retryMs
      return
    }
    // To the end, so that these do not hold up the others.
    this.#unsent.push(...batch)
    this.#resendLimit = Math.max(1, batch.length >> 1)
    this.#resendAt = this.#options.clock.monotonic() + this.#resendPauseMs
    this.#resendPauseMs = Math.min(2 * this.#resendPauseMs, engineDefaults.longestRetryMs)
  }

  /** Not awaited by the loop: the call may take long to fail again. */
  async #retryRefused(): Promise<void> {
    this.#isRetrying = true
    const batch = this.#refused.splice(0, 1)
    if (await this.#send(batch)) this.#retryPauseMs = engineDefaults.retryMs
    else if (await this.#isStorageAvailable()) this.#refuse(batch)
    else this.putBack(batch)
    this.#isRetrying = false
    this.#options.onRetried()
  }

  #refuse(batch: readonly PendingOutcome[]): void {
    this.#refused.push(...batch)
    this.#retryAt = this.#options.clock.monotonic() + this.#retryPauseMs
    this.#retryPauseMs = Math.min(2 * this.#retryPauseMs, engineDefaults.longestRetryMs)
  }

  async #send(batch: readonly PendingOutcome[]): Promise<boolean> {
    try {
      this.report(batch, await this.#options.storage.settle(batch.map(({ outcome }) => outcome)))
      return true
    } catch (error) {
      this.#tell({ name: 'error', error: error as Error })
      return false
    }
  }

  async #isStorageAvailable(): Promise<boolean> {
    return this.#options.storage.nextDueAt([]).then(
      () => true,
      () => false,
    )
  }

  report(batch: readonly PendingOutcome[], verdicts: readonly SettleVerdict[]): void {
    for (let index = 0; index < batch.length; index++) this.#report(batch[index]!, verdicts[index]!)
  }

  /** Reports an outcome that was settled already. */
  reportSettled(attempt: Attempt, end: AttemptEnd, verdict: SettleVerdict): void {
    this.#report({ attempt, end, outcome: outcomeOf(attempt, end) }, verdict)
  }

  #report({ attempt, end }: PendingOutcome, verdict: SettleVerdict): void {
    if (verdict.verdict === 'conflict' && end.instead) {
      return this.push(attempt, { ...end.instead(verdict.added), after: end.after })
    }
    publishOutcome(attempt, end, verdict, this.#tell)
    void end.after?.(verdict)
  }
}

function outcomeOf({ job }: Attempt, { ending }: AttemptEnd): Outcome {
  const { type, id, worker, attempt } = job
  if (ending.kind !== 'completed') return { type, id, worker, attempt, ...ending }
  // Field by field: nearly every outcome is this one. The retention is sent although the record has it: so a storage need not
  // read the record.
  const { kind, result, keepMs = job.retention.completedMs, add } = ending
  return { type, id, worker, attempt, kind, result, keepMs, add }
}
