// Adds of single jobs, coalesced (add-scheduler.ts): each call has its own answer, after the commit. The jobs of a batch have one
// token: it names the call to the storage, and by it the storage recognises a repeat of that call.
//
// Memory per job matters here: a batch has one promise, and one function that takes an answer from it, for all its calls.

import { engineDefaults } from '../defaults.ts'
import type { AddVerdict, NewJob } from '../../storage/storage.ts'
import { addOneByOne, type AddFront, AddScheduler, type FailedAdd } from './add-scheduler.ts'

/** The answer to one job of a batch. */
export type Answer = AddVerdict | FailedAdd

/** One promise serves all calls of a batch: each takes its own answer from it. */
interface Batch {
  readonly token: string
  readonly jobs: NewJob[]
  readonly answers: Promise<readonly Answer[]>
  /** Calls that have their answer. Promise reactions run in the order of the calls, so the next answer is the next call's. */
  taken: number
  /** The conversion that the last call asked for, and the function that applies it. A call that asks for the same shares it. */
  answerOf: ((verdict: AddVerdict) => unknown) | undefined
  take: ((answers: readonly Answer[]) => unknown) | undefined
  resolve(answers: readonly Answer[]): void
}

/** For a call whose answer is the verdict itself. */
export const asIs = (verdict: AddVerdict): AddVerdict => verdict

/** A job that gets its token from its batch, unless it has one of its own. */
export type Draft = { -readonly [K in keyof Omit<NewJob, 'token'>]: NewJob[K] } & { token: string | undefined }

export class Adder {
  /** Made unique by a number. */
  readonly #tokenStart: string
  readonly #most: number
  readonly #addToStorage: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>
  readonly #explain: (error: unknown) => unknown
  /** Calls join the last one. */
  readonly #waiting: Batch[] = []
  readonly #scheduler: AddScheduler<Batch, readonly Answer[]>
  #batches = 0

  /**
   * @param origin a unique text: tokens are made of it and a number
   * @param most jobs in one call
   * @param onAnswers called with the answers of a batch, before its callers have them
   * @param explain makes what the callers get of an error of the storage
   */
  constructor(
    origin: string,
    addToStorage: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>,
    most: number = engineDefaults.batch,
    onAnswers?: (answers: readonly Answer[]) => void,
    explain: (error: unknown) => unknown = (error) => error,
  ) {
    this.#most = most
    this.#explain = explain
    this.#tokenStart = `${origin}/`
    this.#addToStorage = addToStorage
    this.#scheduler = new AddScheduler(this.#front(onAnswers), most)
  }

  /**
   * @param answerOf makes the call's answer of the verdict; if it throws, the call's promise rejects. Calls that pass the same
   * function share what applies it
   */
  add<T>(job: Draft, answerOf: (verdict: AddVerdict) => T): Promise<T> {
    let batch = this.#waiting.at(-1)
    if (!batch || batch.jobs.length === this.#most) this.#waiting.push((batch = this.#newBatch()))
    job.token ??= batch.token
    batch.jobs.push(job as NewJob)
    // A storage that takes large batches is sent all calls of a tick at its end.
    if (batch.jobs.length === this.#most && this.#most < engineDefaults.batch) this.#scheduler.sendIfFull()
    else this.#scheduler.schedule()
    if (batch.answerOf !== answerOf) {
      batch.answerOf = answerOf
      batch.take = takerFrom(batch, answerOf, this.#explain)
    }
    return batch.answers.then(batch.take) as Promise<T>
  }

  #front(onAnswers: ((answers: readonly Answer[]) => void) | undefined): AddFront<Batch, readonly Answer[]> {
    const waiting = this.#waiting
    const most = this.#most
    return {
      get hasWaiting() {
        return waiting.length > 0
      },
      get isNextFull() {
        return waiting.length > 0 && waiting[0]!.jobs.length === most
      },
      next: () => waiting.shift(),
      add: ({ jobs }) => this.#addToStorage(jobs),
      addOneByOne: ({ jobs }, error) => this.#addOneByOne(jobs, error),
      answer: ({ resolve }, answers) => {
        onAnswers?.(answers)
        resolve(answers)
      },
    }
  }

  #addOneByOne(jobs: readonly NewJob[], error: unknown): Promise<readonly Answer[]> {
    return addOneByOne(jobs, error, async ({ id }, index) => {
      // With the earlier jobs of its id: alone, the storage would take it for a repeat of them.
      const mentions = jobs.slice(0, index + 1).filter((job) => job.id === id)
      return (await this.#addToStorage(mentions)).at(-1)!
    })
  }

  #newBatch(): Batch {
    const { promise, resolve } = Promise.withResolvers<readonly Answer[]>()
    const token = this.#tokenStart + ++this.#batches
    return { token, jobs: [], answers: promise, taken: 0, answerOf: undefined, take: undefined, resolve }
  }
}

/** Takes the next answer. */
function takerFrom<T>(
  batch: Batch,
  answerOf: (verdict: AddVerdict) => T,
  explain: (error: unknown) => unknown,
): (answers: readonly Answer[]) => T {
  return (answers) => {
    const answer = answers[batch.taken++]!
    if ('error' in answer) throw explain(answer.error)
    return answerOf(answer)
  }
}
