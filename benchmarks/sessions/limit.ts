// The contender `limit`: the smallest program on the raw client that makes the same durable moves as Holdfast, at the same batch sizes.
// An add inserts a batch of jobs under unique ids; a turn records the ends of the last jobs with their results, and leases the next
// ones. Each is one script, statement or transaction, and is acknowledged when it is committed. There is nothing else: no retries,
// priorities, delays, limits, hints, events or sweeps. (With direct hand-over: limit-handed.ts.)

import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from '../contender.ts'
import type { Payload } from '../load.ts'

export interface BareJob {
  readonly id: string
  /** JSON. */
  readonly payload: string
}

export interface BareQueue {
  insert(jobs: readonly BareJob[]): Promise<void>
  /** Records that these jobs have completed, and leases so many others. */
  turn(ended: readonly string[], slots: number): Promise<readonly BareJob[]>
  close(): Promise<void>
}

/** The cases in which it takes part: the others measure what it does not have. */
export const limitCases: readonly string[] = ['add', 'drain', 'steady']

/** How many jobs each of its turns takes at least; and what its name and configuration say. */
export interface Ahead {
  readonly name: string
  readonly cases: readonly string[]
  readonly about: string
  turnSize(concurrency: number): number
}

/** A turn takes the jobs of its slots. */
export const bySlots: Ahead = {
  name: 'limit',
  cases: limitCases,
  about: 'each with half of the slots',
  turnSize: () => 1,
}

/**
 * A turn takes as many jobs as Holdfast does by default, which claims ahead while handlers are short (docs/prefetch.md).
 * @param size counted in the case drain: about 500 on Redis and Postgres, 60 to 110 on SQLite
 * @param below from this concurrency on, Holdfast takes those of its slots
 */
export function claimsAhead(size: number, below = Infinity): Ahead {
  return {
    name: 'limit ahead',
    cases: ['drain'],
    about: `of ${size} jobs each${below === Infinity ? '' : ` at a concurrency below ${below}, else with half of the slots`}, because Holdfast claims ahead`,
    turnSize: (concurrency) => (concurrency < below ? size : 1),
  }
}

/** Jobs in one insert, at most, and inserts in flight, as in Holdfast. */
const [mostAdded, addsInFlight] = [1_000, 2]
/** It has no hints. */
const idleMs = 1

/** @param calls turns in flight at once, each with its share of the slots, as in Holdfast */
export function limitSession(queue: BareQueue, calls: number, { turnSize }: Ahead): Session {
  const inserter = new Inserter(queue)
  const loops: Promise<void>[] = []
  const closing = new AbortController()
  return {
    add: (id, payload) => inserter.add({ id, payload: JSON.stringify(payload) }),
    addMany: (jobs) => queue.insert(jobs.map(({ id, payload }) => ({ id, payload: JSON.stringify(payload) }))),
    async consume(concurrency, { onStart, onCompleted }) {
      const share = Math.ceil(concurrency / Math.min(calls, concurrency))
      const loop = async (own: number): Promise<void> => {
        const slots = Math.max(own, turnSize(concurrency))
        for (let ended: string[] = []; !closing.signal.aborted || ended.length > 0;) {
          const jobs = await queue.turn(ended, closing.signal.aborted ? 0 : slots)
          for (let count = 0; count < ended.length; count++) onCompleted()
          ended = jobs.map(({ id, payload }) => {
            onStart(JSON.parse(payload) as Payload)
            return id
          })
          if (jobs.length === 0) await sleep(idleMs)
        }
      }
      for (let left = concurrency; left > 0; left -= share) loops.push(loop(Math.min(share, left)))
    },
    async sweep() {},
    calls: () => ({}),
    async close() {
      closing.abort()
      await Promise.all(loops)
      await queue.close()
    },
  }
}

/** Calls of one turn of the event loop go to the server together. */
export class Inserter {
  readonly #queue: Pick<BareQueue, 'insert'>
  #waiting: BareJob[] = []
  #answer = Promise.withResolvers<void>()
  #inFlight = 0
  #isScheduled = false

  constructor(queue: Pick<BareQueue, 'insert'>) {
    this.#queue = queue
  }

  add(job: BareJob): Promise<void> {
    this.#waiting.push(job)
    this.#schedule()
    const { promise } = this.#answer
    if (this.#waiting.length === mostAdded) void this.#send()
    return promise
  }

  #schedule(): void {
    if (this.#isScheduled || this.#inFlight >= addsInFlight) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      if (this.#waiting.length > 0) void this.#send()
    })
  }

  async #send(): Promise<void> {
    const [jobs, { resolve, reject }] = [this.#waiting, this.#answer]
    this.#waiting = []
    this.#answer = Promise.withResolvers<void>()
    this.#inFlight++
    await this.#queue.insert(jobs).then(resolve, reject)
    this.#inFlight--
    if (this.#waiting.length > 0) this.#schedule()
  }
}
