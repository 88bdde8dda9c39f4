// Enqueues coalesce: calls of one tick go to the storage as one `add`, and each has its own verdicts, after the commit.
// Unlike a Queue's (job/adder.ts), a call may be a batch, all of it or nothing, and has a token of its own; and the messages
// of one ordering key are never under way twice, so that they are accepted in the order of the calls.

import { isAway } from '../../engine/job/adder.ts'
import { engineDefaults } from '../../engine/defaults.ts'
import type { AddVerdict, NewJob } from '../../storage/storage.ts'

interface Call {
  readonly jobs: readonly NewJob[]
  readonly orderingKey: string | undefined
  resolve(verdicts: readonly AddVerdict[]): void
  reject(error: unknown): void
}

export class Sender {
  readonly #addToStorage: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>
  readonly #most: number
  readonly #waiting: Call[] = []
  readonly #keys = new Set<string>()
  #inFlight = 0
  #scheduled = false

  /** @param most jobs in one call to the storage; a larger batch goes alone */
  constructor(addToStorage: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>, most: number = engineDefaults.batch) {
    this.#addToStorage = addToStorage
    this.#most = most
  }

  /** @param jobs of one token, all with this ordering key */
  send(jobs: readonly NewJob[], orderingKey: string | undefined): Promise<readonly AddVerdict[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly AddVerdict[]>()
    this.#waiting.push({ jobs, orderingKey, resolve, reject })
    this.#schedule()
    return promise
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.length === 0 || this.#inFlight >= engineDefaults.addsInFlight) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      const calls = this.#next()
      if (calls.length === 0) return
      void this.#send(calls)
      this.#schedule()
    })
  }

  /** As many as fit. One whose key is under way waits, and those behind it wait with it. */
  #next(): Call[] {
    let size = 0
    let count = 0
    for (const { jobs, orderingKey } of this.#waiting) {
      if (orderingKey !== undefined && this.#keys.has(orderingKey)) break
      if (count > 0 && size + jobs.length > this.#most) break
      size += jobs.length
      count++
    }
    return this.#waiting.splice(0, count)
  }

  async #send(calls: readonly Call[]): Promise<void> {
    const keys: string[] = []
    for (const { orderingKey } of calls) if (orderingKey !== undefined) keys.push(orderingKey)
    for (const key of keys) this.#keys.add(key)
    this.#inFlight++
    try {
      const verdicts = await this.#addToStorage(calls.length === 1 ? calls[0]!.jobs : calls.flatMap(({ jobs }) => jobs))
      let start = 0
      for (const { jobs, resolve } of calls) resolve(verdicts.slice(start, (start += jobs.length)))
    } catch (error) {
      await this.#oneByOne(calls, error)
    } finally {
      this.#inFlight--
      for (const key of keys) this.#keys.delete(key)
      this.#schedule()
    }
  }

  /** A storage that is away fails them all. A call that cannot be stored fails alone. */
  async #oneByOne(calls: readonly Call[], error: unknown): Promise<void> {
    let away = calls.length === 1 || isAway(error) ? error : undefined
    for (const { jobs, resolve, reject } of calls) {
      if (away !== undefined) {
        reject(away)
        continue
      }
      try {
        resolve(await this.#addToStorage(jobs))
      } catch (own) {
        reject(own)
        if (isAway(own)) away = own
      }
    }
  }
}
