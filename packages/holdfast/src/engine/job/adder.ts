// Adds coalesce: the calls of one tick go to the storage as one, and each has its own answer, after the commit. They have
// one token too: it names the call to the storage, and by it a repeat of that call is known.

import { isHoldfastError } from '../../errors.ts'
import { isUnavailable } from '../guard.ts'
import { engineDefaults } from '../defaults.ts'
import type { AddVerdict, NewJob } from '../../storage/storage.ts'

/** What became of one job of a batch. */
export type Answer = AddVerdict | { readonly error: unknown }

/** One promise serves all calls of a batch: each takes its own answer from it. */
interface Batch {
  readonly token: string
  readonly jobs: NewJob[]
  readonly answers: Promise<readonly Answer[]>
  /** Callers who have their answer. They are told in the order in which they came, so the next answer is the next one's. */
  taken: number
  /** What the last caller asked for, and the function that takes it. The next asks for the same: none is made for each. */
  answerOf: ((verdict: AddVerdict) => unknown) | undefined
  take: ((answers: readonly Answer[]) => unknown) | undefined
  resolve(answers: readonly Answer[]): void
}

/** For a caller who is told the verdict as it is. */
export const asIs = (verdict: AddVerdict): AddVerdict => verdict

/** A job that gets its token from the batch that takes it. */
export type Draft = Omit<NewJob, 'token'> & { token: string | undefined }

export class Adder {
  /** Made unique by a number. */
  readonly #tokenStart: string
  readonly #most: number
  readonly #addToStorage: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>
  readonly #onAnswers: ((answers: readonly Answer[]) => void) | undefined
  /** The last one takes what comes. */
  readonly #waiting: Batch[] = []
  #batches = 0
  #scheduled = false
  #inFlight = 0

  /**
   * @param origin nobody else's: with a number, it makes tokens
   * @param most jobs in one call
   * @param onAnswers told those of a batch, before its callers are
   */
  constructor(
    origin: string,
    addToStorage: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>,
    most: number = engineDefaults.batch,
    onAnswers?: (answers: readonly Answer[]) => void,
  ) {
    this.#onAnswers = onAnswers
    this.#most = most
    this.#tokenStart = `${origin}/`
    this.#addToStorage = addToStorage
  }

  /**
   * @param answerOf makes the caller's answer of the verdict; if it throws, the caller's promise rejects. Where calls pass the
   * same function, none is made for each of them
   */
  add<T>(job: Draft, answerOf: (verdict: AddVerdict) => T): Promise<T> {
    let batch = this.#waiting.at(-1)
    if (!batch || batch.jobs.length === this.#most) this.#waiting.push((batch = this.#newBatch()))
    job.token = batch.token
    batch.jobs.push(job as NewJob)
    this.#schedule()
    if (batch.answerOf !== answerOf) {
      batch.answerOf = answerOf
      batch.take = takerFrom(batch, answerOf)
    }
    return batch.answers.then(batch.take) as Promise<T>
  }

  #schedule(): void {
    // While enough calls are under way, more gather for the next: the slower the storage, the larger the batches.
    if (this.#scheduled || this.#inFlight >= engineDefaults.addsInFlight) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      const batch = this.#waiting.shift()
      if (batch) void this.#send(batch)
      if (this.#waiting.length > 0) this.#schedule()
    })
  }

  async #send({ jobs, resolve }: Batch): Promise<void> {
    this.#inFlight++
    let answers: readonly Answer[]
    try {
      answers = await this.#addToStorage(jobs)
    } catch (error) {
      answers = await this.#oneByOne(jobs, error)
    }
    this.#inFlight--
    if (this.#waiting.length > 0) this.#schedule()
    this.#onAnswers?.(answers)
    resolve(answers)
  }

  /** A storage that is away fails them all. A job that cannot be stored fails alone. */
  async #oneByOne(jobs: readonly NewJob[], error: unknown): Promise<Answer[]> {
    let away = jobs.length === 1 || isAway(error) ? error : undefined
    const answers: Answer[] = []
    for (const [index, { id }] of jobs.entries()) {
      // With the earlier ones of its id: alone it would pass for a repeat of them.
      const mentions = jobs.slice(0, index + 1).filter((job) => job.id === id)
      try {
        answers.push(away === undefined ? (await this.#addToStorage(mentions)).at(-1)! : { error: away })
      } catch (own) {
        answers.push({ error: own })
        if (isAway(own)) away = own
      }
    }
    return answers
  }

  #newBatch(): Batch {
    const { promise, resolve } = Promise.withResolvers<readonly Answer[]>()
    const token = this.#tokenStart + ++this.#batches
    return { token, jobs: [], answers: promise, taken: 0, answerOf: undefined, take: undefined, resolve }
  }
}

/** Takes the next answer. */
function takerFrom<T>(batch: Batch, answerOf: (verdict: AddVerdict) => T): (answers: readonly Answer[]) => T {
  return (answers) => {
    const answer = answers[batch.taken++]!
    if ('error' in answer) throw answer.error
    return answerOf(answer)
  }
}

/** No answer, none for now, or none any more: another try at once would fare no better. */
export function isAway(error: unknown): boolean {
  return isHoldfastError(error, 'STORAGE_CLOSED') || isHoldfastError(error, 'QUEUE_STOPPED') || isUnavailable(error)
}
