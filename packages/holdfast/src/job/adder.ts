// Adds coalesce: the calls of one tick go to the storage as one, and each has its own verdict, after the commit.

import { isHoldfastError } from '../errors.ts'
import { engineDefaults } from '../options.ts'
import type { AddVerdict, NewJob } from '../storage/storage.ts'

interface Waiting {
  readonly job: NewJob
  readonly told: (verdict: AddVerdict) => unknown
  readonly resolve: (answer: never) => void
  readonly reject: (error: unknown) => void
}

export class Adder {
  readonly #store: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>
  #waiting: Waiting[] = []
  #scheduled = false
  #inFlight = 0

  constructor(store: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>) {
    this.#store = store
  }

  /** @param told makes the caller's answer of the verdict; if it throws, the caller's promise rejects */
  add<T>(job: NewJob, told: (verdict: AddVerdict) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ job, told, resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    // While enough calls are under way, more gather for the next: the slower the storage, the larger the batches.
    if (this.#scheduled || this.#inFlight >= engineDefaults.addsInFlight) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      const batch = this.#waiting.splice(0, engineDefaults.batch)
      void this.#send(batch)
      if (this.#waiting.length > 0) this.#schedule()
    })
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    this.#inFlight++
    try {
      const verdicts = await this.#store(batch.map(({ job }) => job))
      for (let index = 0; index < batch.length; index++) answer(batch[index]!, verdicts[index]!)
    } catch (error) {
      await this.#fail(batch, error)
    } finally {
      this.#inFlight--
      if (this.#waiting.length > 0) this.#schedule()
    }
  }

  /** A storage that is away fails them all. A job that cannot be stored fails alone. */
  async #fail(batch: readonly Waiting[], error: unknown): Promise<void> {
    let away = batch.length === 1 || isAway(error) ? error : undefined
    for (const item of batch) {
      if (away !== undefined) {
        item.reject(away)
        continue
      }
      try {
        answer(item, (await this.#store([item.job]))[0]!)
      } catch (own) {
        item.reject(own)
        if (isAway(own)) away = own
      }
    }
  }
}

function answer({ told, resolve, reject }: Waiting, verdict: AddVerdict): void {
  try {
    resolve(told(verdict) as never)
  } catch (error) {
    reject(error)
  }
}

/** No answer, or none for now: another try at once would fare no better. */
function isAway(error: unknown): boolean {
  if (!isHoldfastError(error, 'STORAGE_ERROR')) return false
  const { cause } = error
  return cause === undefined || (cause !== null && typeof cause === 'object' && 'transient' in cause)
}
