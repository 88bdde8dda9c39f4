// Jobs under way while a scenario makes its faults: one process with a producer and two workers, each with a storage of its own. In the end
// every acknowledged job must be completed, and be recorded once.

import { isHoldfastError, Queue, type Storage } from 'holdfast'
import { sleep } from '../child.ts'

export interface WorkloadOptions {
  open(): Promise<Storage> | Storage
  readonly leaseMs?: number
  /** Duration of a handler, ms. @default 5 */
  readonly handlerMs?: number
}

interface Payload {
  readonly number: number
}

export class Workload {
  readonly acked = new Set<string>()
  /** Jobs whose completion a worker was told of, with the number of times. */
  readonly #told = new Map<string, number>()
  readonly #options: WorkloadOptions
  readonly #queues: Queue<Payload, number>[] = []
  readonly errors = new Map<string, number>()
  #adding: Promise<void> | undefined
  #isOver = false
  #number = 0

  constructor(options: WorkloadOptions) {
    this.#options = options
  }

  get completed(): number {
    return this.#told.size
  }

  async start(): Promise<void> {
    for (const role of ['producer', 'one', 'other']) {
      const queue = new Queue<Payload, number>({
        storage: await this.#options.open(),
        name: 'matrix',
        workerId: role,
        concurrency: 20,
        leaseMs: this.#options.leaseMs ?? 1_000,
        maxAttempts: 50,
        backoff: { type: 'fixed', delayMs: 50 },
      })
      queue.on('error', (error) => this.#note(error))
      if (role !== 'producer') {
        queue.execute(async ({ payload }) => {
          await sleep(this.#options.handlerMs ?? 5)
          return payload.number
        })
        queue.on('completed', (id) => void this.#told.set(id, (this.#told.get(id) ?? 0) + 1))
      }
      await queue.start()
      this.#queues.push(queue)
    }
    this.#adding = this.#add()
  }

  /** Whether a worker of this process was told that it completed the job. */
  wasTold(id: string): boolean {
    return this.#told.has(id)
  }

  get queue(): Queue<Payload, number> {
    return this.#queues[0]!
  }

  /** Waits until so many more jobs were completed. @returns false if they were not in time */
  async goesOn(jobs: number, withinMs: number): Promise<boolean> {
    const wanted = this.completed + jobs
    return eventually(withinMs, async () => this.completed >= wanted)
  }

  /** Ends the adds, waits for what is live, and stops. @returns what is wrong */
  async end({
    withinMs = 60_000,
    mayLose = () => false,
    mayRepeat = false,
  }: {
    withinMs?: number
    mayLose?: (id: string) => boolean
    /** Whether completions may be lost, too, and with them the knowledge that a job has run. */
    mayRepeat?: boolean
  } = {}) {
    const wrong: string[] = []
    this.#isOver = true
    await this.#adding
    const left = new Set(this.acked)
    let lost: string[] = []
    const isEmpty = await eventually(withinMs, async () => {
      lost = []
      for (const id of left) {
        const status = await this.queue.getStatus(id).catch(() => 'unanswered' as const)
        if (status === 'unanswered') continue
        if (!status) lost.push(id)
        else if (status.state === 'completed') left.delete(id)
        else if (status.state === 'failed' || status.state === 'cancelled') {
          wrong.push(`${id} is ${status.state}`)
          left.delete(id)
        }
      }
      return left.size === lost.length
    })
    if (!isEmpty) wrong.push(`${left.size - lost.length} acknowledged jobs were still live after ${withinMs} ms`)
    wrong.push(...lost.filter((id) => !mayLose(id)).map((id) => `lost: ${id} was acknowledged and is gone`))
    for (const [id, times] of this.#told)
      if (times > 1 && !mayRepeat) wrong.push(`doubleRecorded: ${id} was completed ${times} times`)
    await Promise.all(
      this.#queues.map((queue) => queue.stop({ timeout: 2_000 }).catch((error: Error) => this.#note(error))),
    )
    return { wrong, lost: lost.length }
  }

  async #add(): Promise<void> {
    while (!this.#isOver) {
      const number = ++this.#number
      const id = `m${number}`
      // An add without an answer is repeated under its id.
      for (let tries = 0; ; tries++) {
        try {
          await this.queue.enqueue(id, { number })
          this.acked.add(id)
          break
        } catch (error) {
          this.#note(error as Error)
          if (!isHoldfastError(error)) throw error
          if (this.#isOver && tries > 50) return
          await sleep(50)
        }
      }
      if (this.acked.size - this.completed > 200) await sleep(20)
    }
  }

  #note(error: Error): void {
    const message = error.message.replaceAll(/\d+/g, '…').slice(0, 160)
    this.errors.set(message, (this.errors.get(message) ?? 0) + 1)
  }
}

export async function eventually(ms: number, isSo: () => Promise<boolean>): Promise<boolean> {
  const until = performance.now() + ms
  while (performance.now() < until) {
    if (await isSo()) return true
    await sleep(50)
  }
  return false
}
