// Jobs that are added because others failed for good. What a worker settles itself carries them in the same call. Of a job that the
// storage ended, a worker learns afterwards: then they are added by a call of their own, which the id makes idempotent.

import { atMost, type Clock } from '../../clock.ts'
import type { Bytes, Ended, NewJob } from '../../storage/storage.ts'
import type { PublishEvent } from '../events.ts'
import type { GuardedStorage } from '../guard.ts'
import { stalledError } from './outcome-events.ts'
import type { WorkType } from './work-type.ts'

/** A job that failed for good. */
export interface FailedJob {
  readonly id: string
  /** As it is stored. */
  readonly payload: Bytes | undefined
  readonly error: unknown
  /** Runs that failed. */
  readonly attempts: number
  /** Epoch ms. */
  readonly failedAt: number
}

type Lettered = Pick<WorkType, 'type' | 'deadLetterOf'>

/** What a letter needs to know of a job that the storage ended. */
type EndedJob = Pick<Ended, 'type' | 'id' | 'state' | 'failures' | 'payload'>

interface DeadLettersOptions {
  readonly storage: Pick<GuardedStorage, 'add'>
  readonly clock: Clock
  readonly types: readonly Lettered[]
  readonly publishEvent: PublishEvent
}

export class DeadLetters {
  readonly #options: DeadLettersOptions
  readonly #types: ReadonlyMap<string, Lettered>
  readonly #adding = new Set<Promise<void>>()

  constructor(options: DeadLettersOptions) {
    this.#options = options
    this.#types = new Map(options.types.map((work) => [work.type, work]))
  }

  /** Adds the letters of jobs that the storage ended as failed. A failure is an `error` event. */
  addFor(ended: readonly EndedJob[]): void {
    const jobs = ended.flatMap((one) => this.#letterOf(one) ?? [])
    if (jobs.length === 0) return
    const adding = this.#add(jobs).finally(() => this.#adding.delete(adding))
    this.#adding.add(adding)
  }

  /** Waits for letters that are being added, at most `ms`. */
  async flush(ms: number): Promise<void> {
    if (this.#adding.size > 0) await atMost(this.#options.clock, ms, Promise.all(this.#adding))
  }

  #letterOf({ type, id, state, payload, failures }: EndedJob): NewJob | undefined {
    if (state !== 'failed') return undefined
    const failedAt = this.#options.clock.now()
    return this.#types.get(type)?.deadLetterOf?.({ id, payload, error: stalledError(id), attempts: failures, failedAt })
  }

  async #add(jobs: readonly NewJob[]): Promise<void> {
    try {
      await this.#options.storage.add(jobs)
    } catch (error) {
      this.#options.publishEvent({ name: 'error', error: error as Error })
    }
  }
}
