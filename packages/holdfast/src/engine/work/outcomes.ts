// Outcomes gather here and leave together. What could not be sent is sent again, until a verdict comes; the handler is
// never blamed for the storage.

import type { Clock } from '../../clock.ts'
import { HoldfastError, MaxRetriesError, StorageError } from '../../errors.ts'
import type { Tell } from '../events.ts'
import { engineDefaults } from '../defaults.ts'
import type { GuardedStorage } from '../guard.ts'
import type { AddVerdict, Ended, Ending, Outcome, SettleVerdict } from '../../storage/storage.ts'
import type { Attempt } from './attempt.ts'
import type { WorkType } from './work-type.ts'

/** What an attempt ended in, and what only this process knows of it. */
export interface AttemptEnd {
  readonly ending: Ending
  /** As the handler returned it, or afterExecution changed it. */
  readonly value?: unknown
  readonly error?: Error
  readonly payload?: unknown

  // Of chains alone:
  /** It was settled already, in a transaction. */
  readonly verdict?: SettleVerdict
  /** What to say instead, where the storage refused the jobs that come along. */
  instead?(added: readonly AddVerdict[]): AttemptEnd
  /**
   * Told the verdict, or that nothing was recorded. The attempt keeps its slot until what it returns has ended. Never
   * rejects.
   */
  after?(verdict: SettleVerdict | undefined): Promise<void>
}

interface Settling {
  readonly attempt: Attempt
  readonly end: AttemptEnd
  readonly outcome: Outcome
}

interface OutcomesOptions {
  readonly storage: Pick<GuardedStorage, 'settle' | 'nextDueAt'>
  readonly clock: Clock
  readonly tell: Tell
  /** One that the storage refuses was tried again, beside the loop. */
  onRetried(): void
}

export class Outcomes {
  readonly #options: OutcomesOptions
  readonly #tell: Tell
  #waiting: Settling[] = []
  /** Came back unsent. One of them may be why, so they go apart from the others, and from claims. */
  #held: Settling[] = []
  /** How many at a time: fewer after each failure, more after each success. */
  #most: number = engineDefaults.batch
  #resendAt = 0
  #pauseMs: number = engineDefaults.retryMs
  /** The storage answers, but does not take these. They have a time of their own: no other waits for it. */
  #unsendable: Settling[] = []
  #retrying = false
  #retryAt = 0
  #retryPauseMs: number = engineDefaults.retryMs

  constructor(options: OutcomesOptions) {
    this.#options = options
    this.#tell = options.tell
  }

  get size(): number {
    return this.#waiting.length + this.#held.length + this.#unsendable.length + (this.#retrying ? 1 : 0)
  }

  /** Those that can go with the next call. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** How long until some that came back are due again. */
  get resendMs(): number {
    // The unsendable ones after the held: while the storage may be away, they would only fail again.
    const isHolding = this.#held.length > 0
    if (!isHolding && (this.#unsendable.length === 0 || this.#retrying)) return Infinity
    return Math.max(0, (isHolding ? this.#resendAt : this.#retryAt) - this.#options.clock.monotonic())
  }

  push(attempt: Attempt, end: AttemptEnd): void {
    this.#waiting.push({ attempt, end, outcome: outcomeOf(attempt, end) })
  }

  take(): readonly Settling[] {
    if (this.#waiting.length > engineDefaults.batch) return this.#waiting.splice(0, engineDefaults.batch)
    const all = this.#waiting
    this.#waiting = []
    return all
  }

  /** They were not sent, or nobody knows. */
  putBack(batch: readonly Settling[]): void {
    this.#held.push(...batch)
    if (batch.length > 0) this.#resendAt = 0
  }

  /**
   * Tries some that came back, if it is time. False: nothing should be claimed before the rest is gone, for the storage may
   * just have come back, and a claim would take back jobs whose outcomes are here.
   */
  async resend(): Promise<boolean> {
    if (this.resendMs > 0) return this.#held.length === 0
    if (this.#held.length > 0) await this.#resend(this.#held.splice(0, this.#most))
    else void this.#retryUnsendable()
    return this.#held.length === 0
  }

  async #resend(batch: readonly Settling[]): Promise<void> {
    let sent = await this.#send(batch)
    if (!sent && batch.length === 1 && (await this.#answers())) {
      this.#pauseMs = engineDefaults.retryMs
      // The storage is there: once more, and if it fails again it is to blame itself.
      sent = await this.#send(batch)
      if (!sent) return this.#setAside(batch)
    }
    if (sent) {
      this.#most = Math.min(2 * this.#most, engineDefaults.batch)
      this.#pauseMs = engineDefaults.retryMs
      return
    }
    // To the end, so that none stands in the way of the others.
    this.#held.push(...batch)
    this.#most = Math.max(1, batch.length >> 1)
    this.#resendAt = this.#options.clock.monotonic() + this.#pauseMs
    this.#pauseMs = Math.min(2 * this.#pauseMs, engineDefaults.longestRetryMs)
  }

  /** Beside the loop: it may take its time to fail again, and nobody should wait for that. */
  async #retryUnsendable(): Promise<void> {
    this.#retrying = true
    const batch = this.#unsendable.splice(0, 1)
    if (await this.#send(batch)) this.#retryPauseMs = engineDefaults.retryMs
    else if (await this.#answers()) this.#setAside(batch)
    else this.putBack(batch)
    this.#retrying = false
    this.#options.onRetried()
  }

  #setAside(batch: readonly Settling[]): void {
    this.#unsendable.push(...batch)
    this.#retryAt = this.#options.clock.monotonic() + this.#retryPauseMs
    this.#retryPauseMs = Math.min(2 * this.#retryPauseMs, engineDefaults.longestRetryMs)
  }

  async #send(batch: readonly Settling[]): Promise<boolean> {
    try {
      this.report(batch, await this.#options.storage.settle(batch.map(({ outcome }) => outcome)))
      return true
    } catch (error) {
      this.#tell({ name: 'error', error: error as Error })
      return false
    }
  }

  async #answers(): Promise<boolean> {
    return this.#options.storage.nextDueAt([]).then(
      () => true,
      () => false,
    )
  }

  report(batch: readonly Settling[], verdicts: readonly SettleVerdict[]): void {
    for (let index = 0; index < batch.length; index++) this.#report(batch[index]!, verdicts[index]!)
  }

  /** Of one that was settled already. */
  reportSettled(attempt: Attempt, end: AttemptEnd, verdict: SettleVerdict): void {
    this.#report({ attempt, end, outcome: outcomeOf(attempt, end) }, verdict)
  }

  #report({ attempt, end }: Settling, verdict: SettleVerdict): void {
    if (verdict.verdict === 'conflict' && end.instead) {
      return this.push(attempt, { ...end.instead(verdict.added), after: end.after })
    }
    this.#tellReport(attempt, end, verdict)
    void end.after?.(verdict)
  }

  #tellReport(attempt: Attempt, end: AttemptEnd, verdict: SettleVerdict): void {
    const { type, id } = attempt.job
    const about = { type, id, attempt: attempt.counted }
    const durationMs = attempt.endedAt - attempt.startedAt
    if (verdict.verdict === 'conflict') {
      const message = `job '${id}': its outcome was refused, for a job that it adds was`
      return this.#tell({ name: 'error', error: new StorageError(message, { maybeApplied: false }) })
    }
    if (verdict.verdict !== 'settled') return this.#tell({ name: 'fenced', ...about, verdict: verdict.verdict })
    const { ending } = end
    const stalled = (ending.kind === 'retry' || ending.kind === 'failed') && ending.stalled === true
    if (stalled) this.#tell({ name: 'stalled', type, id })
    switch (verdict.state) {
      case 'completed': {
        // Field by field: this one comes with every job.
        return this.#tell({
          name: 'completed',
          type,
          id,
          attempt: attempt.counted,
          result: end.value,
          durationMs,
          job: attempt.job,
          verdict,
        })
      }
      case 'failing':
        return this.#tell({
          name: 'failing',
          ...about,
          error: end.error!,
          runAt: verdict.runAt,
          job: attempt.job,
          durationMs,
        })
      case 'failed': {
        const cause = stalled || !end.error ? stalledError(id) : end.error
        return this.#tell({
          name: 'failed',
          ...about,
          error: new MaxRetriesError(id, about.attempt, cause, end.payload),
          job: attempt.job,
          verdict,
          durationMs,
        })
      }
      case 'cancelled':
        return this.#tell({ name: 'cancelled', type, id, job: attempt.job, verdict })
      // Queued or scheduled: it waits again, without having failed.
      default:
        if (!stalled) this.#tell({ name: 'released', ...about, job: attempt.job })
    }
  }
}

function outcomeOf({ job }: Attempt, { ending }: AttemptEnd): Outcome {
  const { type, id, worker, attempt } = job
  if (ending.kind !== 'completed') return { type, id, worker, attempt, ...ending }
  // Field by field: nearly every outcome is this one. How long it is kept is said though the record knows it: so a storage
  // need not look there.
  const { kind, result, keepMs = job.retention.completedMs, add } = ending
  return { type, id, worker, attempt, kind, result, keepMs, add }
}

/** Jobs that the storage ended by itself. */
export function tellEnded(ended: readonly Ended[], works: ReadonlyMap<string, WorkType>, tell: Tell): void {
  for (const { type, id, chain, state, reason, failures, payload } of ended) {
    if (state === 'cancelled') {
      tell({ name: 'cancelled', type, id, chain })
      continue
    }
    const cause = reason === 'blocker_failed' ? blockerError(id) : stalledError(id)
    const error = new MaxRetriesError(id, failures, cause, works.get(type)?.payloadOf(payload))
    tell({ name: 'failed', type, id, attempt: failures, error, reason, chain })
  }
}

export function stalledError(id: string): HoldfastError {
  return new HoldfastError('STALLED', `Job '${id}' stalled: its last attempt ran too long, or its worker died`, {
    jobId: id,
  })
}

export const blockerError = (id: string): HoldfastError =>
  new HoldfastError('BLOCKER_FAILED', `Job '${id}' waited for another that failed or was cancelled`, { jobId: id })
