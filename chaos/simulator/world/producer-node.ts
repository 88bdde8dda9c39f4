// A producer process: it adds jobs of every kind, waits for some, and operates on others. Every answer is written to the history.

import { isHoldfastError, Queue, type Storage } from 'holdfast'
import { type Client, createClient } from 'holdfast/chains'
import { storedType } from 'holdfast/storage'
import type { TaskDefinition, Tasks } from 'holdfast/tasks'
import type { Random } from '../../random.ts'
import { jobTypes } from './chains.ts'
import { isQueueKind, jobOptionsOf, type QueueKind, queueOptionsOf, taskQueue } from './kinds.ts'
import type { SimulatedNode } from './node.ts'
import type { Setup } from './setup.ts'
import { noteTask, tasksOn } from './tasks.ts'
import type { SeenHere } from './worker-node.ts'

export interface ProducerParts {
  readonly setup: Setup
  readonly node: SimulatedNode
  readonly storage: Storage
  readonly random: Random
  readonly see: (seen: SeenHere) => void
  nextPayload(): string
  nextCall(): number
}

/** Ids that are used again and again; others are new. */
const reused = ['x', 'y', 'z']

export class ProducerNode {
  readonly node: SimulatedNode
  readonly #parts: ProducerParts
  readonly #queues = new Map<QueueKind, Queue<string, string>>()
  #client: Client<typeof jobTypes extends { readonly types?: infer T } ? T : never> | undefined
  #tasks: { readonly face: Tasks; readonly note: TaskDefinition<string, string> } | undefined
  #isThrough = false
  #isStopping = false
  /** Pauses that are not resumed yet. */
  #pauses = 0

  constructor(parts: ProducerParts) {
    this.node = parts.node
    this.#parts = parts
  }

  /** Its calls are made, and what it paused is resumed. */
  get isDone(): boolean {
    return this.#isThrough && this.#pauses === 0
  }

  async run(): Promise<void> {
    const { setup, random } = this.#parts
    try {
      while (
        !(await this.#open().then(
          () => true,
          () => false,
        ))
      )
        await this.#sleep(100)
      const stepMs = setup.durationMs / setup.operations
      for (let index = 0; index < setup.operations; index++) {
        const kind = random.pick(setup.kinds)
        const operation = isQueueKind(kind)
          ? this.#operate(kind)
          : kind === 'chains'
            ? this.#startChain()
            : this.#sendTask()
        // Some calls are made side by side.
        if (random.next() < 0.5) await operation.catch(() => {})
        else operation.catch(() => {})
        await this.#sleep(random.between(0, 2 * stepMs))
      }
    } finally {
      this.#isThrough = true
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all([...this.#queues.values()].map((queue) => queue.stop({ graceMs: 0 })))
    await this.#client?.close()
    await this.#tasks?.face[Symbol.asyncDispose]()
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#parts.node.clock.after(ms, resolve, { keepsAlive: false }))
  }

  async #open(): Promise<void> {
    const { setup, storage, node } = this.#parts
    for (const kind of setup.kinds) {
      if (isQueueKind(kind)) {
        const { schedules: _, ...options } = queueOptionsOf(kind, setup)
        const queue = new Queue<string, string>({ ...options, storage, clock: node.clock })
        queue.on('error', () => {})
        this.#queues.set(kind, queue)
      } else if (kind === 'chains') {
        const retention = { completed: setup.resultTTL, failed: setup.resultTTL, cancelled: setup.resultTTL }
        const ages = Object.fromEntries(Object.entries(retention).map(([state, ageMs]) => [state, { ageMs }]))
        this.#client = (await createClient({
          storage,
          jobTypeRegistry: jobTypes,
          clock: node.clock,
          retention: ages,
        })) as never
      } else {
        const face = tasksOn(storage, node, setup)
        this.#tasks = { face, note: noteTask(face, async () => '') }
      }
    }
  }

  async #operate(kind: QueueKind): Promise<unknown> {
    const { random, setup } = this.#parts
    const queue = this.#queues.get(kind)!
    const choice = random.next()
    const id = this.#id(kind)
    if (choice < 0.55 || (kind !== 'plain' && choice < 0.75)) return this.#enqueue(kind, id)
    if (choice < 0.63) return this.#enqueueAndWait(kind, id)
    if (choice < 0.68) {
      const items = Array.from({ length: 3 }, () => ({
        id: this.#id(kind),
        payload: this.#parts.nextPayload(),
        ...withoutReplace(jobOptionsOf(kind, random)),
      }))
      return queue.enqueueMany(items)
    }
    if (choice < 0.78) return queue.cancel(id, random.pick([{}, { abort: true }, { force: true }]))
    if (choice < 0.82) return queue.retry(id)
    if (choice < 0.84) return queue.remove(id)
    if (choice < 0.87) return queue.updateResultTTL(id, random.integer(100, setup.resultTTL))
    if (choice < 0.89) return queue.runNow(id)
    if (choice < 0.92) return this.#pauseForAWhile(queue, kind)
    if (choice < 0.95) return this.#startOver(queue, kind, id)
    if (choice < 0.98) return this.#readUntilGone(queue, id)
    return random.next() < 0.5 ? queue.getStatus(id) : queue.getResult(id)
  }

  #id(kind: QueueKind): string {
    const { random, nextCall } = this.#parts
    // Slots have ids of their own.
    return kind !== 'slots' && random.next() < 0.5 ? random.pick(reused) : `job-${nextCall()}`
  }

  async #enqueue(kind: QueueKind, id: string): Promise<void> {
    const { see, random, nextCall, nextPayload } = this.#parts
    const call = nextCall()
    const type = storedType('queue', kind)
    see({ what: 'asked', call, type, id })
    try {
      const { status } = await this.#queues.get(kind)!.enqueue(id, nextPayload(), jobOptionsOf(kind, random))
      see({ what: 'acked', call, type, id, status })
    } catch (error) {
      see({ what: 'refused', call, code: codeOf(error) })
    }
  }

  async #enqueueAndWait(kind: QueueKind, id: string): Promise<void> {
    const { see, random, nextCall, nextPayload } = this.#parts
    const [call, type] = [nextCall(), storedType('queue', kind)]
    const timeoutMs = random.integer(200, 6_000)
    see({ what: 'waiting', call, timeoutMs })
    try {
      const options = { ...jobOptionsOf(kind, random), timeout: timeoutMs }
      const result = await this.#queues.get(kind)!.enqueueAndWait(id, nextPayload(), options)
      // A wait for the holder of a key gives the result of that job.
      see({ what: 'waited', call, type, id: kind === 'keyed' ? '' : id, ...(kind !== 'keyed' && { result }) })
    } catch (error) {
      see({ what: 'waited', call, type, id, code: codeOf(error) })
    }
  }

  async #pauseForAWhile(queue: Queue<string, string>, kind: QueueKind): Promise<void> {
    const { random } = this.#parts
    const isGrouped = (kind === 'ordered' || kind === 'fair') && random.next() < 0.5
    const options = isGrouped ? { group: random.pick(['a', 'b']) } : {}
    this.#pauses++
    try {
      await queue.pause(options)
      await this.#sleep(random.between(100, 1_500))
      await queue.resume(options)
    } finally {
      this.#pauses--
    }
  }

  /** Ends a job, whatever it does, and adds another one under its id: the run of the first may go on, and write later. */
  async #startOver(queue: Queue<string, string>, kind: QueueKind, id: string): Promise<void> {
    await this.#enqueue(kind, id)
    await this.#sleep(this.#parts.random.between(5, 300))
    if (!this.#isStopping) await queue.cancel(id, { force: true })
    if (!this.#isStopping) await this.#enqueue(kind, id)
  }

  /** Reads a result before and after its expiry. */
  async #readUntilGone(queue: Queue<string, string>, id: string): Promise<void> {
    const keptMs = this.#parts.random.integer(100, 600)
    await queue.updateResultTTL(id, keptMs)
    await queue.getResult(id)
    await this.#sleep(keptMs + 20)
    if (!this.#isStopping) await queue.getResult(id)
  }

  async #startChain(): Promise<void> {
    const { random, see, nextCall, nextPayload } = this.#parts
    const client = this.#client as unknown as Client<any>
    const id = `order-${nextCall()}`
    const type = storedType('chain', 'order')
    const choice = random.next()
    if (choice > 0.9) {
      await client.cancelJobChain({
        typeName: 'order',
        id: `order-${random.integer(1, 40)}`,
        abort: random.next() < 0.5,
      })
      return
    }
    const call = nextCall()
    see({ what: 'asked', call, type, id })
    try {
      const { status } = await client.startJobChain({
        typeName: 'order',
        id,
        input: nextPayload(),
        startBlockers: async ({ startJobChain }: any) => [
          await startJobChain({ typeName: 'part', input: nextPayload() }),
          await startJobChain({ typeName: 'part', input: nextPayload() }),
        ],
      } as never)
      see({ what: 'acked', call, type, id, status: status === 'added' ? 'queued' : status })
    } catch (error) {
      see({ what: 'refused', call, code: codeOf(error) })
    }
  }

  async #sendTask(): Promise<void> {
    const { random, see, nextCall, nextPayload } = this.#parts
    const { face, note } = this.#tasks!
    const call = nextCall()
    const type = storedType('task', taskQueue)
    see({ what: 'asked', call, type, id: '' })
    try {
      const orderingKey = random.next() < 0.5 ? random.pick(['a', 'b']) : undefined
      const delay = random.next() < 0.3 ? random.integer(1, 1_000) : undefined
      const { id = '', status } = await face.enqueueTask(note, nextPayload(), { orderingKey, delay })
      see({ what: 'acked', call, type, id, status: status === 'enqueued' ? 'queued' : status })
    } catch (error) {
      see({ what: 'refused', call, code: codeOf(error) })
    }
  }
}

function withoutReplace(options: ReturnType<typeof jobOptionsOf>): object {
  const { onDuplicate: _, ...others } = options
  return others
}

const codeOf = (error: unknown): string => (isHoldfastError(error) ? error.code : String(error))
