// A worker of one of the queues: its handler, and its life in four events.

import { EventEmitter } from 'node:events'
import { type Clock, type Job, Queue, type QueueConfig } from 'holdfast'
import type { ProcessorJob } from './jobs.ts'
import type { StoredJob } from './queues.ts'

/** What is known of an attempt that failed. The job is undefined where its worker had died, and this one heard of it. */
export interface FailedAttempt<Data> {
  readonly id: string
  readonly job: ProcessorJob<Data> | undefined
  readonly error: Error
  /** It will not be tried again. */
  readonly isFinal: boolean
}

export interface FederationWorkerEvents<Data> {
  /** Connected, and at work. */
  ready: []
  /** Of the worker itself: the storage is away. Jobs are untouched, and it reconnects. */
  error: [error: Error]
  /** Every attempt that failed, retried or not. */
  failed: [attempt: FailedAttempt<Data>]
  completed: [id: string, job: ProcessorJob<Data> | undefined]
}

interface WorkerOptions<Data> {
  readonly config: QueueConfig<StoredJob<Data>>
  readonly process: (job: ProcessorJob<Data>) => Promise<void>
  readonly clock: Clock
}

const firstRetryMs = 100
const longestRetryMs = 5_000

export class FederationWorker<Data> extends EventEmitter<FederationWorkerEvents<Data>> {
  readonly queue: Queue<StoredJob<Data>>
  readonly #clock: Clock
  /** Attempts that this worker runs, or whose end it has not heard of yet. */
  readonly #running = new Map<string, ProcessorJob<Data>>()
  /** Whose fate is told in a moment. */
  readonly #stalled = new Set<string>()
  readonly #following = new Set<Promise<void>>()
  #isClosed = false
  #closing: Promise<void> | undefined

  constructor({ config, process, clock }: WorkerOptions<Data>) {
    super()
    this.#clock = clock
    this.queue = new Queue<StoredJob<Data>>(config)
    this.queue.execute(async (job) => {
      const mine = processorJobOf(job)
      this.#running.set(job.id, mine)
      await process(mine)
    })
    this.#listen()
  }

  #listen(): void {
    const take = (id: string): ProcessorJob<Data> | undefined => {
      const job = this.#running.get(id)
      this.#running.delete(id)
      return job
    }
    this.queue.on('error', (error) => this.#tellError(error))
    this.queue.on('completed', (id) => void this.emit('completed', id, take(id)))
    this.queue.on('failing', (id, error) => void this.emit('failed', { id, job: take(id), error, isFinal: false }))
    this.queue.on('failed', (id, { lastError, payload, attempts }) => {
      this.#stalled.delete(id)
      const job = take(id) ?? endedJobOf(id, payload as StoredJob<Data> | undefined, attempts)
      this.emit('failed', { id, job, error: lastError, isFinal: true })
    })
    this.queue.on('stalled', (id) => this.#heedStalled(id, take(id)))
    this.queue.on('requeued', take)
    this.queue.on('cancelled', take)
    this.queue.on('fenced', (id, attempt) => {
      if (this.#running.get(id)?.attempt === attempt) this.#running.delete(id)
    })
  }

  /** Given up, or taken back. If that was the last attempt, `failed` follows at once and says so. */
  #heedStalled(id: string, job: ProcessorJob<Data> | undefined): void {
    this.#stalled.add(id)
    queueMicrotask(() => {
      if (!this.#stalled.delete(id)) return
      const error = new Error('the attempt took too long, or its worker died')
      this.emit('failed', { id, job, error: Object.assign(error, { code: 'STALLED' }), isFinal: false })
    })
  }

  /** Tries until the storage is there. */
  start(): this {
    void this.#start(firstRetryMs)
    return this
  }

  async #start(retryMs: number): Promise<void> {
    try {
      await this.queue.start()
    } catch (error) {
      if (this.#isClosed) return
      this.#tellError(error as Error)
      const again = (): void => void (this.#isClosed || this.#start(Math.min(2 * retryMs, longestRetryMs)))
      return void this.#clock.after(retryMs, again, { keepsAlive: false })
    }
    if (!this.#isClosed) this.after(async () => void this.emit('ready'))
  }

  /** Work that follows an event; its failure is an `error`. */
  after(work: () => Promise<void>): void {
    const done: Promise<void> = work()
      .catch((error: unknown) => this.#tellError(error as Error))
      .finally(() => this.#following.delete(done))
    this.#following.add(done)
  }

  /** Resolves once all that followed has ended. */
  async idle(): Promise<void> {
    while (this.#following.size > 0) await Promise.all(this.#following)
  }

  /** Takes no new job, and waits for those under way. @param timeout in ms @default 30_000 */
  close(timeout = 30_000): Promise<void> {
    this.#isClosed = true
    this.#closing ??= this.queue.stop({ timeout })
    return this.#closing
  }

  #tellError(error: Error): void {
    // Without a listener it would be thrown.
    if (this.listenerCount('error') > 0) this.emit('error', error)
  }
}

function endedJobOf<Data>(
  id: string,
  stored: StoredJob<Data> | undefined,
  attempt: number,
): ProcessorJob<Data> | undefined {
  return stored && { id, name: stored.name, data: stored.data, attempt, maxAttempts: attempt }
}

function processorJobOf<Data>({
  id,
  payload,
  attempts,
  maxAttempts,
  signal,
}: Job<StoredJob<Data>>): ProcessorJob<Data> {
  return { id, name: payload.name, data: payload.data, attempt: attempts, maxAttempts, signal }
}
