// Adds coalesce: the calls of one tick go to the storage as one, and each has its own verdict, after the commit.

import { isHoldfastError } from '../errors.ts'
import { engineDefaults } from '../options.ts'
import type { AddVerdict, NewJob } from '../storage/storage.ts'

interface Waiting {
  readonly job: NewJob
  readonly resolve: (verdict: AddVerdict) => void
  readonly reject: (error: unknown) => void
}

export class Adder {
  readonly #add: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>
  #waiting: Waiting[] = []
  #scheduled = false
  #inFlight = 0

  constructor(add: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>) {
    this.#add = add
  }

  add(job: NewJob): Promise<AddVerdict> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject })
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
      const verdicts = await this.#add(batch.map(({ job }) => job))
      for (let index = 0; index < batch.length; index++) batch[index]!.resolve(verdicts[index]!)
    } catch (error) {
      await this.#fail(batch, error)
    } finally {
      this.#inFlight--
      if (this.#waiting.length > 0) this.#schedule()
    }
  }

  /** A storage that is away fails them all. A job that cannot be stored fails alone. */
  async #fail(batch: readonly Waiting[], error: unknown): Promise<void> {
    if (batch.length === 1 || isHoldfastError(error, 'STORAGE_ERROR')) {
      for (const { reject } of batch) reject(error)
      return
    }
    for (const { job, resolve, reject } of batch) {
      try {
        resolve((await this.#add([job]))[0]!)
      } catch (own) {
        reject(own)
      }
    }
  }
}
