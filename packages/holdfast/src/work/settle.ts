// Outcomes gather here and leave together. What could not be sent is sent again, until a verdict comes; the handler is
// never blamed for the storage.

import { HoldfastError, MaxRetriesError } from '../errors.ts'
import type { Tell } from '../events.ts'
import { engineDefaults } from '../options.ts'
import type { Ended, Ending, Outcome, SettleVerdict } from '../storage/storage.ts'
import type { Attempt } from './attempt.ts'
import type { WorkType } from './worker.ts'

/** What an attempt ended in, and what only this process knows of it. */
export interface Result {
  readonly ending: Ending
  /** As the handler returned it, or afterExecution changed it. */
  readonly value?: unknown
  readonly error?: Error
  readonly payload?: unknown
}

interface Settling {
  readonly attempt: Attempt
  readonly result: Result
  readonly outcome: Outcome
}

export class Outcomes {
  readonly #tell: Tell
  #waiting: Settling[] = []
  /** After a failure one goes at a time: what makes a batch fail then stands alone. */
  #careful = false

  constructor(tell: Tell) {
    this.#tell = tell
  }

  get size(): number {
    return this.#waiting.length
  }

  get careful(): boolean {
    return this.#careful && this.#waiting.length > 0
  }

  push(attempt: Attempt, result: Result): void {
    const { type, id, worker, attempt: number } = attempt.job
    this.#waiting.push({ attempt, result, outcome: { type, id, worker, attempt: number, ...result.ending } })
  }

  take(): readonly Settling[] {
    const count = this.#careful ? 1 : engineDefaults.batch
    if (count >= this.#waiting.length) {
      const all = this.#waiting
      this.#waiting = []
      return all
    }
    return this.#waiting.splice(0, count)
  }

  /** They were not sent, or nobody knows: at the end, so that none stands in the way of the others. */
  putBack(batch: readonly Settling[]): void {
    this.#careful = true
    this.#waiting.push(...batch)
  }

  report(batch: readonly Settling[], verdicts: readonly SettleVerdict[]): void {
    if (batch.length > 0) this.#careful = false
    for (let index = 0; index < batch.length; index++) this.#report(batch[index]!, verdicts[index]!)
  }

  #report({ attempt, result }: Settling, verdict: SettleVerdict): void {
    const about = { type: attempt.job.type, id: attempt.job.id, attempt: attempt.number }
    if (verdict.verdict === 'conflict') {
      const error = new HoldfastError('STORAGE_ERROR', `job '${about.id}': what its outcome adds was refused`, about)
      return this.#tell({ name: 'error', error })
    }
    if (verdict.verdict !== 'settled') return this.#tell({ name: 'fenced', ...about, verdict: verdict.verdict })
    const { ending } = result
    const stalled = (ending.kind === 'retry' || ending.kind === 'failed') && ending.stalled === true
    if (stalled) this.#tell({ name: 'stalled', type: about.type, id: about.id })
    switch (verdict.state) {
      case 'completed': {
        const durationMs = result.ending.kind === 'completed' ? attempt.endedAt - attempt.startedAt : 0
        return this.#tell({ name: 'completed', ...about, result: result.value, durationMs })
      }
      case 'failing':
        return this.#tell({ name: 'failing', ...about, error: result.error!, runAt: verdict.runAt })
      case 'failed': {
        const cause = stalled || !result.error ? stalledError(about.id) : result.error
        const error = new MaxRetriesError(about.id, about.attempt, cause, result.payload)
        return this.#tell({ name: 'failed', ...about, error })
      }
      case 'cancelled':
        return this.#tell({ name: 'cancelled', type: about.type, id: about.id })
      default:
        if (!stalled) this.#tell({ name: 'released', ...about })
    }
  }
}

/** Jobs that the storage ended by itself. */
export function tellEnded(ended: readonly Ended[], works: ReadonlyMap<string, WorkType>, tell: Tell): void {
  for (const { type, id, state, reason, failures, payload } of ended) {
    if (state === 'cancelled') {
      tell({ name: 'cancelled', type, id })
      continue
    }
    const cause = reason === 'blocker_failed' ? blockerError(id) : stalledError(id)
    const error = new MaxRetriesError(id, failures, cause, works.get(type)?.payloadOf(payload))
    tell({ name: 'failed', type, id, attempt: failures, error, reason })
  }
}

export function stalledError(id: string): HoldfastError {
  return new HoldfastError('STALLED', `Job '${id}' stalled: its last attempt ran too long, or its worker died`, {
    jobId: id,
  })
}

const blockerError = (id: string): HoldfastError =>
  new HoldfastError('BLOCKER_FAILED', `Job '${id}' waited for another that failed or was cancelled`, { jobId: id })
