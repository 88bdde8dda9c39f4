// Scripts whose writes must be on disk or on replicas before they are answered. WAIT confirms only what was written before it
// on the same connection, and blocks that connection. So these calls have a connection of their own: the calls that arrive
// during one WAIT are sent together, followed by the next WAIT.

import type { Clock } from '../../../clock.ts'
import { type Argument, isCluster } from './client.ts'
import { redisError, replyCode, storageError } from './errors.ts'
import { hashTag, keyArguments } from './keys.ts'
import type { Link } from './link.ts'
import { sendingMs } from './reply-monitor.ts'
import type { Wait } from './server-requirements.ts'

/** A script of this driver. */
export interface Runnable {
  readonly source: string
  /** SHA-1 of the source, in hex. */
  readonly sha: string
}

interface Call {
  readonly script: Runnable
  readonly key: string
  readonly args: readonly Argument[]
  resolve(answer: unknown): void
  reject(error: unknown): void
}

/** Calls of one slot that are not sent yet. */
interface SlotQueue {
  calls: Call[]
  isSending: boolean
}

export class DurableCalls {
  readonly #clock: Clock
  readonly #link: Link
  readonly #wait: () => Wait | undefined
  readonly #onError: (error: unknown) => void
  /** One for each slot of a cluster, so that a WAIT on one node delays no call to another. */
  readonly #queues = new Map<string, SlotQueue>()

  constructor(clock: Clock, link: Link, wait: () => Wait | undefined, onError: (error: unknown) => void) {
    this.#clock = clock
    this.#link = link
    this.#wait = wait
    this.#onError = onError
  }

  async run(script: Runnable, key: string, args: readonly Argument[]): Promise<unknown> {
    const client = this.#link.client ?? (await this.#link.connected())
    const tag = isCluster(client) ? hashTag(key) : ''
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const queue = this.#queues.get(tag) ?? { calls: [], isSending: false }
    this.#queues.set(tag, queue)
    queue.calls.push({ script, key, args, resolve, reject })
    // All calls of this tick are sent together.
    if (!queue.isSending) {
      queue.isSending = true
      this.#clock.soon(() => void this.#send(tag, queue))
    }
    return promise
  }

  async #send(tag: string, queue: SlotQueue): Promise<void> {
    while (queue.calls.length > 0) {
      const calls = queue.calls
      queue.calls = []
      try {
        const notRun = await this.#batch(calls, 'evalsha')
        if (notRun.length > 0) await this.#batch(notRun, 'eval')
      } catch (error) {
        this.#onError(error)
        for (const call of calls) call.reject(redisError(error))
      }
    }
    queue.isSending = false
    this.#queues.delete(tag)
  }

  /** Answers the calls. Returns those that did not run: the server does not know the script, or the slot has moved. */
  async #batch(calls: readonly Call[], command: 'evalsha' | 'eval'): Promise<Call[]> {
    const client = this.#link.client ?? (await this.#link.connected())
    const wait = this.#wait()
    const pipeline = client.pipeline()
    for (const { script, key, args } of calls) {
      const name = command === 'eval' ? script.source : script.sha
      pipeline.callBuffer(command, [name, ...keyArguments(client, key), ...args])
    }
    if (wait) pipeline.callBuffer(wait.command, waitArguments(wait))
    const allowMs = (wait?.timeoutMs ?? 0) + sendingMs(calls.flatMap(({ args }) => args))
    const answers = (await this.#link.replies.expect(pipeline.exec(), allowMs)) ?? []
    const failure = wait && waitFailure(wait, answers[calls.length])
    const notRun: Call[] = []
    let hasMoved = false
    for (const [index, call] of calls.entries()) {
      const [error, answer] = answers[index] ?? [new Error('the pipeline was not answered')]
      if (error) {
        const code = replyCode(error)
        hasMoved ||= code === 'MOVED'
        if (command === 'evalsha' && (code === 'NOSCRIPT' || code === 'MOVED')) notRun.push(call)
        else {
          this.#onError(error)
          call.reject(redisError(error))
        }
      } else if (failure) call.reject(failure)
      else call.resolve(answer)
    }
    // The client follows a single command to the new node of its slot, but not a pipeline with a WAIT, which has no slot.
    if (hasMoved) await this.#link.replies.expect(client.callBuffer('exists', [calls[0]!.key]))
    return notRun
  }
}

function waitArguments({ command, replicas, timeoutMs }: Wait): string[] {
  return command === 'wait' ? [String(replicas), String(timeoutMs)] : ['1', String(replicas), String(timeoutMs)]
}

/** The error if the writes are not as durable as asked for. They were applied all the same. */
function waitFailure(wait: Wait, [error, answer]: [Error | null, unknown?] = [new Error('not answered')]): unknown {
  const data = { transient: true, maybeApplied: true }
  const applied = 'The call was applied, and may not survive a failure of the server.'
  if (error) return storageError(`Redis: ${wait.command.toUpperCase()} failed (${error.message}). ${applied}`, data)
  const [synced, replicas] = wait.command === 'wait' ? [1, Number(answer)] : (answer as unknown[]).map(Number)
  if (synced! < 1) {
    const message = `Redis: the write was not synced to disk within ${wait.timeoutMs} ms. ${applied}`
    return storageError(message, { ...data, reason: 'not_synced' })
  }
  if (replicas! >= wait.replicas) return undefined
  const message = `Redis: ${replicas} of ${wait.replicas} replicas acknowledged the write within ${wait.timeoutMs} ms. ${applied}`
  return storageError(message, { ...data, reason: 'not_replicated' })
}
