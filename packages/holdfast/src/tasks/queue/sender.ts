// Adds of messages, coalesced (engine/job/add-scheduler.ts). Unlike a Queue's, a call may be a batch, which has a token of its own:
// it is stored whole or not at all, or, above 1,000 messages without a deduplication key, in several such moves (batch.ts).
// Invariant: the messages of one ordering key are in one add in flight at most, so that they are accepted in the order of the calls.

import { addOneByOne, type AddFront, AddScheduler, type FailedAdd } from '../../engine/job/add-scheduler.ts'
import { engineDefaults } from '../../engine/defaults.ts'
import type { AddVerdict, NewJob } from '../../storage/storage.ts'
import { MoveFailed, moveSize } from './batch.ts'

interface Call {
  readonly jobs: readonly NewJob[]
  readonly orderingKey: string | undefined
  resolve(verdicts: readonly AddVerdict[]): void
  reject(error: unknown): void
}

type Answer = readonly AddVerdict[] | FailedAdd

export class Sender {
  readonly #addToStorage: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>
  readonly #most: number
  readonly #waiting: Call[] = []
  /** Ordering keys of the adds in flight. */
  readonly #keys = new Set<string>()
  readonly #scheduler: AddScheduler<readonly Call[], readonly Answer[]>

  /** @param most jobs of several calls in one call to the storage; a larger batch is sent alone */
  constructor(addToStorage: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>, most: number = engineDefaults.batch) {
    this.#addToStorage = addToStorage
    this.#most = most
    this.#scheduler = new AddScheduler(this.#front())
  }

  /** @param jobs of one token, all with this ordering key */
  send(jobs: readonly NewJob[], orderingKey: string | undefined): Promise<readonly AddVerdict[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly AddVerdict[]>()
    this.#waiting.push({ jobs, orderingKey, resolve, reject })
    this.#scheduler.schedule()
    return promise
  }

  #front(): AddFront<readonly Call[], readonly Answer[]> {
    const waiting = this.#waiting
    return {
      get hasWaiting() {
        return waiting.length > 0
      },
      // A call is a batch of its own, which others join.
      isNextFull: false,
      next: () => this.#next(),
      add: (calls) => this.#add(calls),
      addOneByOne: (calls, error) => addOneByOne(calls, error, ({ jobs }) => this.#addToStorage(jobs)),
      answer: (calls, answers) => this.#answer(calls, answers),
    }
  }

  /** As many as fit. A call whose ordering key is in flight waits, and the calls behind it wait too. */
  #next(): readonly Call[] | undefined {
    let size = 0
    let count = 0
    for (const { jobs, orderingKey } of this.#waiting) {
      if (orderingKey !== undefined && this.#keys.has(orderingKey)) break
      if (count > 0 && size + jobs.length > this.#most) break
      size += jobs.length
      count++
    }
    if (count === 0) return undefined
    const calls = this.#waiting.splice(0, count)
    for (const { orderingKey } of calls) if (orderingKey !== undefined) this.#keys.add(orderingKey)
    return calls
  }

  async #add(calls: readonly Call[]): Promise<readonly Answer[]> {
    if (calls.length === 1) return [await this.#addCall(calls[0]!.jobs)]
    const verdicts = await this.#addToStorage(calls.flatMap(({ jobs }) => jobs))
    let start = 0
    return calls.map(({ jobs }) => verdicts.slice(start, (start += jobs.length)))
  }

  #addCall(jobs: readonly NewJob[]): Promise<readonly AddVerdict[]> {
    const isOneMove = jobs.length <= moveSize || jobs[0]!.deduplication !== undefined
    return isOneMove ? this.#addToStorage(jobs) : this.#addMoves(jobs)
  }

  /** One after the other: the call keeps its ordering key until the last of them. @throws MoveFailed */
  async #addMoves(jobs: readonly NewJob[]): Promise<readonly AddVerdict[]> {
    const verdicts: AddVerdict[] = []
    while (verdicts.length < jobs.length) {
      try {
        verdicts.push(...(await this.#addToStorage(jobs.slice(verdicts.length, verdicts.length + moveSize))))
      } catch (error) {
        throw new MoveFailed(verdicts.length, error)
      }
    }
    return verdicts
  }

  #answer(calls: readonly Call[], answers: readonly Answer[]): void {
    calls.forEach(({ orderingKey, resolve, reject }, index) => {
      if (orderingKey !== undefined) this.#keys.delete(orderingKey)
      const answer = answers[index]!
      if ('error' in answer) reject(answer.error)
      else resolve(answer)
    })
  }
}
