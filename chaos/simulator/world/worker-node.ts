// A worker process: a Queue for each kind, and the workers of chains and tasks.

import { Queue, type Storage } from 'holdfast'
import { createInProcessWorker } from 'holdfast/chains'
import { type ClaimedJob, storedType } from 'holdfast/storage'
import { fenceOf } from '../../entries.ts'
import type { Seen } from '../history/entries.ts'
import { jobTypes, chainProcessors } from './chains.ts'
import { type HandlerParts, type HandlerResult, type HandlerRun, runHandler } from './handlers.ts'
import { isQueueKind, type Kind, type QueueKind, queueOptionsOf, taskQueue } from './kinds.ts'
import type { SimulatedNode } from './node.ts'
import type { Setup } from './setup.ts'
import { noteTask, tasksOn } from './tasks.ts'

export type SeenHere = Seen extends infer S ? (S extends Seen ? Omit<S, 'node'> : never) : never

export interface WorkerParts extends HandlerParts {
  readonly setup: Setup
  readonly node: SimulatedNode
  readonly storage: Storage
  readonly see: (seen: SeenHere) => void
  nextPayload(): string
}

interface Stoppable {
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

export class WorkerNode {
  readonly node: SimulatedNode
  readonly #parts: WorkerParts
  readonly #faces: Stoppable[] = []
  /** The fence of the last claim of each job that this process got. */
  readonly #fences = new Map<string, string>()
  #running = 0
  #isStopping = false
  /** Resolves once its faces are made, or a stop came before. */
  #made: Promise<void> | undefined
  /** Every face has started. */
  isReady = false

  constructor(parts: WorkerParts) {
    this.node = parts.node
    this.#parts = parts
  }

  /** Handlers that have not ended. */
  get running(): number {
    return this.#running
  }

  /** To be called with each answer to a claim. */
  claimed(jobs: readonly ClaimedJob[]): void {
    for (const job of jobs) this.#fences.set(`${job.type}/${job.id}`, fenceOf(job))
  }

  async start(): Promise<void> {
    const { setup, see } = this.#parts
    see({ what: 'nodeStarted' })
    this.#made = this.#make(setup.kinds)
    await this.#made
    if (this.#isStopping) return
    await Promise.all(this.#faces.map((face) => face.start()))
    this.isReady = true
  }

  /** A face that is being made is waited for: there is nothing to stop before. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#made
    await Promise.all(this.#faces.map((face) => face.stop()))
  }

  async #make(kinds: readonly Kind[]): Promise<void> {
    for (const kind of kinds) {
      const face = isQueueKind(kind)
        ? this.#queue(kind)
        : kind === 'tasks'
          ? this.#tasks()
          : await this.#untilReady(() => this.#chains())
      if (face) this.#faces.push(face)
    }
  }

  /** As a process that is started again until it comes up. */
  async #untilReady<T>(open: () => Promise<T>): Promise<T | undefined> {
    const { clock } = this.node
    while (!this.#isStopping) {
      try {
        return await open()
      } catch {
        await new Promise<void>((resolve) => void clock.after(100, resolve))
      }
    }
    return undefined
  }

  #queue(kind: QueueKind): Stoppable {
    const { setup, node, storage, nextPayload } = this.#parts
    const queue = new Queue<string, string>({
      ...queueOptionsOf(kind, setup),
      storage,
      clock: node.clock,
      workerId: node.name,
    })
    queue.on('error', () => {})
    queue.execute(async (job) => {
      const add = async (): Promise<void> => {
        // Its refusal is the handler's to ignore: the job may be added again by the next run.
        await queue.enqueue(`${job.id}+`, nextPayload()).catch(() => {})
      }
      return this.#run(storedType('queue', kind), job.id, job.payload, {
        signal: job.signal,
        progress: (value) => job.progress(value),
        log: (text) => job.log(text),
        addJob: add,
      })
    })
    return { start: () => queue.start(), stop: () => queue.stop({ graceMs: 500 }) }
  }

  async #chains(): Promise<Stoppable> {
    const { setup, node, storage } = this.#parts
    const { leaseMs, pollMs, concurrency, maxAttempts, backoff } = setup
    const worker = await createInProcessWorker({
      storage: storage as Storage<never>,
      clock: node.clock,
      jobTypeRegistry: jobTypes,
      workerId: node.name,
      leaseMs,
      pollMs,
      concurrency,
      maxAttempts,
      backoff: { type: 'exponential', ...backoff },
      presenceMs: false,
      graceMs: 500,
      deadlineMs: 1_000,
      workerLoopRetryConfig: { initialDelayMs: 50, maxDelayMs: 5_000 },
      jobTypeProcessors: chainProcessors((type, id, input, context) =>
        this.#run(storedType('chain', type), id, input, { ...context, addJob: async () => {} }),
      ),
    })
    return { start: () => worker.start(), stop: () => worker.stop() }
  }

  #tasks(): Stoppable {
    const { setup, node, storage } = this.#parts
    const tasks = tasksOn(storage, node, setup)
    noteTask(tasks, (id, data, context) =>
      this.#run(storedType('task', taskQueue), id, data, { ...context, addJob: async () => {} }),
    )
    return { start: () => tasks.start(), stop: () => tasks.stop({ graceMs: 500 }) }
  }

  async #run(
    type: string,
    id: string,
    payload: string,
    run: Omit<HandlerRun, 'node' | 'fence'>,
  ): Promise<HandlerResult> {
    const { see, node } = this.#parts
    const fence = this.#fences.get(`${type}/${id}`) ?? 'no claim'
    see({ what: 'began', type, id, fence, hash: payload })
    this.#running++
    run.signal.addEventListener('abort', () => {
      see({ what: 'aborted', fence, reason: String((run.signal.reason as { code?: unknown })?.code) })
    })
    try {
      return await runHandler({ ...run, node, fence }, this.#parts)
    } finally {
      this.#running--
      see({ what: 'finished', fence })
    }
  }
}
