// Outcomes gather here and are sent together. An outcome that could not be sent is sent again until the storage gives a verdict.
// A failing storage never counts as a failure of the handler.

import type { Clock } from '../../clock.ts'
import type { AddVerdict, Ending, Outcome, SettleVerdict } from '../../storage/storage.ts'
import { engineDefaults } from '../defaults.ts'
import type { PublishEvent } from '../events.ts'
import type { GuardedStorage } from '../guard.ts'
import { type Backoff, delayAfter } from '../job/backoff.ts'
import type { SlowDown } from '../job/directives.ts'
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
  /** The handler was told to slow down (rateLimited). */
  readonly slowDown?: SlowDown

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
  /** Pause before an outcome is sent again; 50 ms to 5 s, if that is shorter: its lease is not renewed any more. */
  readonly loopBackoff: Backoff
  readonly publishEvent: PublishEvent
  /** Called when an outcome that was held back can be sent, or a refused one was sent again, beside the loop. */
  onDelayed(): void
}

export class Outcomes {
  readonly #options: OutcomesOptions
  readonly #publishEvent: PublishEvent
  #waiting: PendingOutcome[] = []
  /** Outcomes whose attempts have a report in flight. They wait for its answer: the fence would refuse a report that comes after them. */
  #reporting = 0
  /** Outcomes of failed calls. One of them may be the cause, so they go apart from the others, and from claims. */
  #unsent: PendingOutcome[] = []
  /** Unsent outcomes per call: halved by each failure, doubled by each success. */
  #resendLimit: number = engineDefaults.batch
  #resendAt = 0
  readonly #resendPause: RetryPause
  /** Outcomes that the storage refuses although it answers. They have a timer of their own, so that no other waits for it. */
  #refused: PendingOutcome[] = []
  #isRetrying = false
  #retryAt = 0
  readonly #retryPause: RetryPause
  #hasEnded = false

  constructor(options: OutcomesOptions) {
    this.#options = options
    this.#publishEvent = options.publishEvent
    this.#resendPause = new RetryPause(options)
    this.#retryPause = new RetryPause(options)
  }

  /** Outcomes that are not recorded yet. */
  get size(): number {
    const beingSent = this.#reporting + (this.#isRetrying ? 1 : 0)
    return this.#waiting.length + this.#unsent.length + this.#refused.length + beingSent
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
    if (attempt.sending) void this.#pushAfterReport(attempt, end, attempt.sending.answered)
    else this.#waiting.push({ attempt, end, outcome: outcomeOf(attempt, end) })
  }

  async #pushAfterReport(attempt: Attempt, end: AttemptEnd, answered: Promise<void>): Promise<void> {
    this.#reporting++
    await answered
    this.#reporting--
    if (this.#hasEnded) return
    this.push(attempt, end)
    this.#options.onDelayed()
  }

  /**
   * The worker has stopped: nothing of what waits is sent any more. A job whose outcome was not recorded comes back when its lease ends.
   * Only the jobs of a claim that is answered later are still released, by one call.
   */
  end(): void {
    this.#hasEnded = true
    this.#waiting = []
    this.#unsent = []
    this.#refused = []
  }

  take(): readonly PendingOutcome[] {
    if (this.#waiting.length > engineDefaults.batch) return this.#waiting.splice(0, engineDefaults.batch)
    const all = this.#waiting
    this.#waiting = []
    return all
  }

  /** Takes outcomes back whose call failed: they were not sent, or it is not known. */
  putBack(batch: readonly PendingOutcome[]): void {
    if (this.#hasEnded) return
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
      this.#resendPause.reset()
      // The storage answers: a second failure in a row is caused by the outcome itself.
      sent = await this.#send(batch)
      if (!sent) return this.#refuse(batch)
    }
    if (sent) {
      this.#resendLimit = Math.min(2 * this.#resendLimit, engineDefaults.batch)
      this.#resendPause.reset()
      return
    }
    if (this.#hasEnded) return
    // To the end, so that these do not hold up the others.
    this.#unsent.push(...batch)
    this.#resendLimit = Math.max(1, batch.length >> 1)
    this.#resendAt = this.#options.clock.monotonic() + this.#resendPause.next()
  }

  /** Not awaited by the loop: the call may take long to fail again. */
  async #retryRefused(): Promise<void> {
    this.#isRetrying = true
    const batch = this.#refused.splice(0, 1)
    if (await this.#send(batch)) this.#retryPause.reset()
    else if (await this.#isStorageAvailable()) this.#refuse(batch)
    else this.putBack(batch)
    this.#isRetrying = false
    this.#options.onDelayed()
  }

  #refuse(batch: readonly PendingOutcome[]): void {
    this.#refused.push(...batch)
    this.#retryAt = this.#options.clock.monotonic() + this.#retryPause.next()
  }

  async #send(batch: readonly PendingOutcome[]): Promise<boolean> {
    if (this.#hasEnded) return false
    try {
      this.report(batch, await this.#options.storage.settle(batch.map(({ outcome }) => outcome)))
      return true
    } catch (error) {
      this.#publishEvent({ name: 'error', error: error as Error })
      return false
    }
  }

  async #isStorageAvailable(): Promise<boolean> {
    if (this.#hasEnded) return false
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
    if (verdict.verdict === 'conflict' && end.instead && !this.#hasEnded) {
      return this.push(attempt, { ...end.instead(verdict.added), after: end.after })
    }
    const { work, job } = attempt
    if (work.onCompleted && verdict.verdict === 'settled' && end.ending.kind === 'completed') {
      work.onCompleted(job, end.ending.result)
    }
    publishOutcome(attempt, end, verdict, this.#publishEvent)
    void end.after?.(verdict)
  }
}

/** The pause before an outcome is sent again, which grows with each failure in a row. */
class RetryPause {
  readonly #options: Pick<OutcomesOptions, 'clock' | 'loopBackoff'>
  #failures = 0

  constructor(options: Pick<OutcomesOptions, 'clock' | 'loopBackoff'>) {
    this.#options = options
  }

  next(): number {
    const { clock, loopBackoff } = this.#options
    const own = Math.min(engineDefaults.retryMs * 2 ** this.#failures, engineDefaults.longestRetryMs)
    return Math.min(
      own,
      delayAfter(loopBackoff, ++this.#failures, notSent, clock, () => {}),
    )
  }

  reset(): void {
    this.#failures = 0
  }
}

/** For a backoff function. */
const notSent = new Error('an outcome could not be sent')

function outcomeOf({ job, report }: Attempt, { ending }: AttemptEnd): Outcome {
  const { type, id, worker, attempt } = job
  if (ending.kind !== 'completed') return { type, id, worker, attempt, ...ending, ...report?.toReport() }
  // Field by field: nearly every outcome is this one. The retention is sent although the record has it: so a storage need not
  // read the record.
  const { kind, result, keepMs = job.retention.completedMs, add } = ending
  const outcome: Outcome = { type, id, worker, attempt, kind, result, keepMs, add }
  return report ? { ...outcome, ...report.toReport() } : outcome
}
