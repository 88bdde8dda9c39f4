// The contender `limit` with direct hand-over, for requests and latencies: an idle worker has offered its free slots to the server, so an
// insert leases jobs to it and publishes them in the same durable step. The end of a job is recorded with its result, its answer is published
// to the requester, and the slot is offered again, in one step too. So a job takes one trip to its handler, and a request two trips in all.
// Jobs without an offer wait, and the next turn of the worker takes them.

import { randomUUID } from 'node:crypto'
import type { Session } from '../contender.ts'
import { handlerResult } from '../contender.ts'
import type { Payload } from '../load.ts'
import { type BareJob, Inserter } from './limit.ts'

/** The cases in which it takes part. */
export const handedCases: readonly string[] = ['steady', 'rtt']

/** A job as its worker gets it. */
export interface LeasedJob {
  /** What the lease is known by. */
  readonly key: string
  readonly payload: Payload | Request
}

/** The payload of a job whose answer is awaited: the channel of the requester, the id of the job, its payload. */
type Request = readonly [channel: string, id: string, payload: Payload]

export interface Answers {
  readonly channel: string
  /** JSON: ids and results in turn. */
  readonly message: string
}

/** The end of these jobs, whose slots are offered again; and so many more slots. */
export interface Turn {
  readonly ended: readonly string[]
  readonly answers: readonly Answers[]
  readonly slots: number
  /** Of the turns in flight, from 0. */
  readonly lane: number
}

export interface HandingQueue {
  insert(jobs: readonly BareJob[]): Promise<void>
  /** Begins to receive the jobs that inserts lease to the slots of this worker; no job: look for waiting ones. */
  offer(onHanded: (jobs: readonly LeasedJob[]) => void): Promise<void>
  /** Resolves with waiting jobs, leased; the other slots are offered. */
  turn(turn: Turn): Promise<readonly LeasedJob[]>
  /** Begins to receive the messages of a channel. */
  listen(channel: string, onMessage: (message: string) => void): Promise<void>
  close(): Promise<void>
}

/** The jobs of a message: JSON, keys and payloads in turn. */
export function jobsOf(message: string): LeasedJob[] {
  const parts = JSON.parse(message) as unknown[]
  const jobs: LeasedJob[] = []
  for (let at = 0; at < parts.length; at += 2) {
    jobs.push({ key: parts[at] as string, payload: parts[at + 1] as LeasedJob['payload'] })
  }
  return jobs
}

/** A request without an answer for one to two times as long ends the measurement: a message that is lost is lost, there is no recovery. */
const longestWaitMs = 5_000

/** Turns in flight, as in Holdfast. */
const lanes = 2

export function handedSession(queue: HandingQueue): Session {
  const inserter = new Inserter(queue)
  const workers: HandedWorker[] = []
  const channel = `answers-${randomUUID()}`
  const waiting = new Map<string, PromiseWithResolvers<unknown>>()
  let oldest: string | undefined
  const check = setInterval(() => {
    const [first] = waiting
    if (first && first[0] === oldest) first[1].reject(new Error(`${oldest}: no answer came`))
    oldest = first?.[0]
  }, longestWaitMs)
  check.unref()
  const answered = (message: string): void => {
    const parts = JSON.parse(message) as unknown[]
    for (let at = 0; at < parts.length; at += 2) {
      waiting.get(parts[at] as string)?.resolve(parts[at + 1])
      waiting.delete(parts[at] as string)
    }
  }
  let listening: Promise<void> | undefined
  return {
    add: (id, payload) => inserter.add({ id, payload: JSON.stringify(payload) }),
    addMany: (jobs) => queue.insert(jobs.map(({ id, payload }) => ({ id, payload: JSON.stringify(payload) }))),
    async request(id, payload) {
      await (listening ??= queue.listen(channel, answered))
      const request: Request = [channel, id, payload]
      const answer = Promise.withResolvers<unknown>()
      const result = answer.promise
      waiting.set(id, answer)
      // The result comes after the insert, or never.
      return Promise.race([result, inserter.add({ id, payload: JSON.stringify(request) }).then(() => result)])
    },
    async consume(concurrency, { onStart, onCompleted }) {
      const worker = new HandedWorker(queue, concurrency, onStart, onCompleted)
      workers.push(worker)
      await queue.offer((jobs) => worker.take(jobs))
      await worker.start()
    },
    async sweep() {},
    calls: () => ({}),
    async close() {
      clearInterval(check)
      await Promise.all(workers.map((worker) => worker.stop()))
      await queue.close()
    },
  }
}

class HandedWorker {
  readonly #queue: HandingQueue
  readonly #onStart: (payload: Payload) => void
  readonly #onCompleted: () => void
  /** Slots that were never offered. */
  #slots: number
  #ended: string[] = []
  /** Ids and results in turn, by channel. */
  #answers = new Map<string, unknown[]>()
  #hasToLook = false
  #isStopping = false
  readonly #freeLanes = Array.from({ length: lanes }, (_, lane) => lane)
  readonly #inFlight = new Set<Promise<void>>()

  constructor(queue: HandingQueue, slots: number, onStart: (payload: Payload) => void, onCompleted: () => void) {
    this.#queue = queue
    this.#slots = slots
    this.#onStart = onStart
    this.#onCompleted = onCompleted
  }

  /** Resolves once the slots are offered. */
  async start(): Promise<void> {
    this.#send()
    await Promise.all(this.#inFlight)
  }

  take(jobs: readonly LeasedJob[]): void {
    if (jobs.length === 0) this.#hasToLook = true
    this.#run(jobs)
    this.#send()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight)
  }

  #run(jobs: readonly LeasedJob[]): void {
    for (const { key, payload } of jobs) {
      this.#ended.push(key)
      if (!Array.isArray(payload)) {
        this.#onStart(payload as Payload)
        continue
      }
      const [channel, id, own] = payload as unknown as Request
      this.#onStart(own)
      const answers = this.#answers.get(channel) ?? []
      if (answers.push(id, handlerResult) === 2) this.#answers.set(channel, answers)
    }
  }

  #send(): void {
    while (this.#freeLanes.length > 0 && (this.#ended.length > 0 || this.#slots > 0 || this.#hasToLook)) {
      if (this.#isStopping && this.#ended.length === 0) return
      const turn = this.#turn().finally(() => this.#inFlight.delete(turn))
      this.#inFlight.add(turn)
    }
  }

  async #turn(): Promise<void> {
    const [ended, slots, lane] = [this.#ended, this.#slots, this.#freeLanes.shift()!]
    const answers = [...this.#answers].map(([channel, parts]) => ({ channel, message: JSON.stringify(parts) }))
    this.#ended = []
    this.#answers = new Map()
    this.#slots = 0
    this.#hasToLook = false
    const jobs = await this.#queue.turn({ ended, answers, slots: this.#isStopping ? 0 : slots + ended.length, lane })
    for (let count = 0; count < ended.length; count++) this.#onCompleted()
    this.#freeLanes.push(lane)
    this.#run(jobs)
    this.#send()
  }
}
