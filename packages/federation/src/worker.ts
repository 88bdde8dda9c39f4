// A worker of one of the two queues: its processor, its events and its life-cycle.

import { EventEmitter } from 'node:events'
import { type Job, Queue, type QueueConfig } from 'holdfast'
import type { ProcessorJob } from './jobs.ts'
import { resolveStopOptions, type RunOptions, runUntilStopped, type StopOptions } from './life-cycle.ts'
import type { StoredJob } from './queues.ts'

/** An attempt that failed. */
export interface FailedAttempt<Data> {
  readonly id: string
  /** Undefined where the worker of the attempt died and this worker recovered its job. */
  readonly job: ProcessorJob<Data> | undefined
  readonly error: Error
  /** True if no attempt follows. */
  readonly isFinal: boolean
}

export interface FederationWorkerEvents<Data> {
  /** The worker is connected and takes jobs. */
  ready: []
  /** An error of the worker itself, such as a lost storage connection. No job is affected; the worker reconnects. */
  error: [error: Error]
  /** An attempt failed, retried or not. */
  failed: [attempt: FailedAttempt<Data>]
  completed: [id: string, job: ProcessorJob<Data> | undefined]
  /** The peer asked for time, or too many servers were discovered. The job runs again later, and no attempt was spent. */
  waiting: [{ readonly id: string; readonly job: ProcessorJob<Data> | undefined; readonly retryAfterMs: number }]
}

interface WorkerOptions<Data> {
  readonly config: QueueConfig<StoredJob<Data>>
  /** @param acceptedAt when the job was accepted, in epoch ms */
  readonly process: (job: ProcessorJob<Data>, acceptedAt: number) => Promise<void>
}

export class FederationWorker<Data> extends EventEmitter<FederationWorkerEvents<Data>> implements AsyncDisposable {
  readonly queue: Queue<StoredJob<Data>>
  /** Attempts that this worker runs, or whose end its queue has not reported yet. */
  readonly #running = new Map<string, ProcessorJob<Data>>()
  /** Ids of stalled jobs, until the queue has reported whether they failed. */
  readonly #stalled = new Set<string>()
  /** Work that events started. */
  readonly #followUps = new Set<Promise<void>>()
  readonly #ended = Promise.withResolvers<void>()
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined

  /** @internal Made by Federation.startWorkers(). */
  constructor({ config, process }: WorkerOptions<Data>) {
    super()
    this.queue = new Queue<StoredJob<Data>>(config)
    this.queue.execute(async (job) => {
      const mine = processorJobOf(job)
      this.#running.set(job.id, mine)
      await process(mine, job.createdAt)
    })
    this.#listen()
  }

  /** Attempts that run now. */
  get running(): number {
    return this.#running.size
  }

  #listen(): void {
    const take = (id: string): ProcessorJob<Data> | undefined => {
      const job = this.#running.get(id)
      this.#running.delete(id)
      return job
    }
    this.queue.on('error', (error) => this.#emitError(error))
    this.queue.on('completed', (id) => void this.emit('completed', id, take(id)))
    this.queue.on('failing', (id, error) => void this.emit('failed', { id, job: take(id), error, isFinal: false }))
    this.queue.on('failed', (id, { lastError, payload, attempts }) => {
      this.#stalled.delete(id)
      const job = take(id) ?? endedJobOf(id, payload as StoredJob<Data> | undefined, attempts)
      this.emit('failed', { id, job, error: lastError, isFinal: true })
    })
    this.queue.on('stalled', (id) => this.#onStalled(id, take(id)))
    this.queue.on('rate_limited', (id, retryAfterMs) => void this.emit('waiting', { id, job: take(id), retryAfterMs }))
    this.queue.on('released', take)
    this.queue.on('cancelled', take)
    this.queue.on('fenced', (id, attempt) => {
      if (this.#running.get(id)?.attempt === attempt) this.#running.delete(id)
    })
  }

  /** The attempt timed out, or its lease ended. If it was the last attempt, the queue emits `failed` in the same tick. */
  #onStalled(id: string, job: ProcessorJob<Data> | undefined): void {
    this.#stalled.add(id)
    queueMicrotask(() => {
      if (!this.#stalled.delete(id)) return
      const error = new Error(`job ${id}: the attempt timed out, or its worker died. The job is retried.`)
      this.emit('failed', { id, job, error: Object.assign(error, { code: 'STALLED' }), isFinal: false })
    })
  }

  /**
   * Connects and takes jobs. Resolves when the worker is ready, or when stop() came first. Retries while the storage is
   * unreachable; each failure is an `error` event. Later calls return the same promise.
   * @throws StorageError that no retry can help against, such as a wrong password
   */
  start(): Promise<void> {
    this.#starting ??= this.#start()
    return this.#starting
  }

  async #start(): Promise<void> {
    try {
      await this.queue.start()
    } catch (error) {
      this.#emitError(error as Error)
      throw error
    }
    if (!this.#stopping) this.followUp(async () => void this.emit('ready'))
  }

  /** Starts, and resolves when stop() has ended. @param options.signal stops it @throws as start() */
  async run(options?: RunOptions): Promise<void> {
    await runUntilStopped(this, this.#ended.promise, options)
  }

  /** Runs work that follows an event. Its failure is an `error` event. */
  followUp(work: () => Promise<void>): void {
    const done: Promise<void> = work()
      .catch((error: unknown) => this.#emitError(error as Error))
      .finally(() => this.#followUps.delete(done))
    this.#followUps.add(done)
  }

  /** Takes no new job and waits up to `graceMs` for running attempts. Resolves after their follow-up work. */
  async stop(options?: StopOptions): Promise<void> {
    const { graceMs } = resolveStopOptions(options)
    this.#stopping ??= this.#stop(graceMs).finally(this.#ended.resolve)
    return this.#stopping
  }

  async #stop(graceMs: number): Promise<void> {
    await this.queue.stop({ graceMs })
    while (this.#followUps.size > 0) await Promise.all(this.#followUps)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #emitError(error: Error): void {
    // EventEmitter throws an `error` event that has no listener.
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
