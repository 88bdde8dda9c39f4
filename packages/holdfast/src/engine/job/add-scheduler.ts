// Coalesces adds: the calls of one tick go to the storage as one `add`, and a bounded number of adds is in flight.
// It has two fronts: the Queue's (adder.ts), where a call is one job, and the message queue's (tasks/queue/sender.ts), where a
// call is a batch that is stored whole or not at all.

import { isHoldfastError } from '../../errors.ts'
import { engineDefaults } from '../defaults.ts'
import { isUnavailable } from '../availability.ts'

/** What a front supplies: how calls become a batch, and how a batch answers its calls. */
export interface AddFront<Batch, Answers> {
  /** Whether a call waits. */
  readonly hasWaiting: boolean
  /** Whether the next batch is full: further calls cannot join it. */
  readonly isNextFull: boolean
  /** Takes the next batch of the calls that wait. Undefined: none of them may be sent now. */
  next(): Batch | undefined
  /** Adds all of it in one call. */
  add(batch: Batch): Promise<Answers>
  /** After a failed add: see addOneByOne. Never rejects: a failure is an answer. */
  addOneByOne(batch: Batch, error: unknown): Promise<Answers>
  /** Settles the promises of the calls. */
  answer(batch: Batch, answers: Answers): void
}

export class AddScheduler<Batch, Answers> {
  readonly #front: AddFront<Batch, Answers>
  /** Full batches in flight, at most. */
  readonly #mostFull: number
  #scheduled = false
  #inFlight = 0

  /** @param most jobs in one call, at most. Where calls are small, full ones are in flight with as many jobs as a large one has. */
  constructor(front: AddFront<Batch, Answers>, most: number = engineDefaults.batch) {
    this.#front = front
    this.#mostFull = Math.max(engineDefaults.addsInFlight, Math.floor(engineDefaults.batch / most))
  }

  /** Sends what waits, at the end of this tick. Called for each call, so it makes nothing. */
  schedule(): void {
    // While enough adds are in flight, further calls gather for the next: the slower the storage, the larger the batches.
    if (this.#scheduled || !this.#front.hasWaiting || !this.#maySend) return
    this.#scheduled = true
    queueMicrotask(this.#sendNext)
  }

  /** Sends the next batch now, if it is full: the server works on it while the program makes its further calls of this tick. */
  sendIfFull(): void {
    if (this.#front.isNextFull && this.#inFlight < this.#mostFull) this.#send()
  }

  get #maySend(): boolean {
    return this.#inFlight < (this.#front.isNextFull ? this.#mostFull : engineDefaults.addsInFlight)
  }

  readonly #sendNext = (): void => {
    this.#scheduled = false
    if (this.#maySend) this.#send()
  }

  #send(): void {
    const batch = this.#front.next()
    if (batch === undefined) return
    this.#inFlight++
    // Not an async function: that would cost each batch, which may be one job, two more promises.
    void this.#add(batch).then<void, void>(
      (answers) => this.#answer(batch, answers),
      async (error: unknown) => this.#answer(batch, await this.#front.addOneByOne(batch, error)),
    )
    this.schedule()
  }

  #add(batch: Batch): Promise<Answers> {
    try {
      return this.#front.add(batch)
    } catch (error) {
      return Promise.reject<Answers>(error as Error)
    }
  }

  #answer(batch: Batch, answers: Answers): void {
    this.#inFlight--
    this.schedule()
    this.#front.answer(batch, answers)
  }
}

/** The answer to a call that was not stored. */
export interface FailedAdd {
  readonly error: unknown
}

/**
 * After a failed add of several parts: adds each part alone, so that one that cannot be stored fails alone. A storage that cannot
 * answer fails all of them, without another try.
 * @param error of the add of all parts
 * @returns an answer for each part, in order
 */
export async function addOneByOne<Part, Answer>(
  parts: readonly Part[],
  error: unknown,
  add: (part: Part, index: number) => Promise<Answer>,
): Promise<(Answer | FailedAdd)[]> {
  let failsAll: FailedAdd | undefined = parts.length === 1 || isOfStorage(error) ? { error } : undefined
  const answers: (Answer | FailedAdd)[] = []
  for (const [index, part] of parts.entries()) {
    if (failsAll) {
      answers.push(failsAll)
      continue
    }
    try {
      answers.push(await add(part, index))
    } catch (own) {
      answers.push({ error: own })
      if (isOfStorage(own)) failsAll = { error: own }
    }
  }
  return answers
}

/** The storage is unavailable or closed, or the queue was stopped: another add now would fail the same way. */
function isOfStorage(error: unknown): boolean {
  return isHoldfastError(error, 'STORAGE_CLOSED') || isHoldfastError(error, 'QUEUE_STOPPED') || isUnavailable(error)
}
