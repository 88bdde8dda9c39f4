// Scripts whose writes must be on disk or on replicas before they are answered. WAIT proves something only about what was
// written before it on the same connection, and holds that connection up: so these have one of their own, where all that
// gathers during one wait goes out together, followed by the next.

import type { Clock } from '../../../clock.ts'
import { type Argument, isCluster, keysOf } from './client.ts'
import { redisError, replyCode, storageError } from './errors.ts'
import type { Link } from './link.ts'
import type { Wait } from './server.ts'
import { sendingMs } from './watch.ts'

/** A script of this driver. */
export interface Runnable {
  readonly source: string
  /** Of the source, SHA-1 in hex. */
  readonly sha: string
}

interface Call {
  readonly script: Runnable
  readonly key: string
  readonly args: readonly Argument[]
  resolve(answer: unknown): void
  reject(error: unknown): void
}

interface Line {
  calls: Call[]
  isBusy: boolean
}

export class DurableCalls {
  readonly #clock: Clock
  readonly #link: Link
  readonly #wait: () => Wait | undefined
  readonly #onError: (error: unknown) => void
  /** One for each slot: what waits for one node holds up no other. */
  readonly #lines = new Map<string, Line>()

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
    const line = this.#lines.get(tag) ?? { calls: [], isBusy: false }
    this.#lines.set(tag, line)
    line.calls.push({ script, key, args, resolve, reject })
    // All that is asked for in this tick goes together.
    if (!line.isBusy) {
      line.isBusy = true
      this.#clock.soon(() => void this.#send(tag, line))
    }
    return promise
  }

  async #send(tag: string, line: Line): Promise<void> {
    while (line.calls.length > 0) {
      const calls = line.calls
      line.calls = []
      try {
        const notRun = await this.#batch(calls, 'evalsha')
        if (notRun.length > 0) await this.#batch(notRun, 'eval')
      } catch (error) {
        this.#onError(error)
        for (const call of calls) call.reject(redisError(error))
      }
    }
    line.isBusy = false
    this.#lines.delete(tag)
  }

  /** Answers the calls, but for those whose script the server does not know, or whose slot has moved. */
  async #batch(calls: readonly Call[], command: 'evalsha' | 'eval'): Promise<Call[]> {
    const client = this.#link.client ?? (await this.#link.connected())
    const wait = this.#wait()
    const pipeline = client.pipeline()
    for (const { script, key, args } of calls) {
      pipeline.callBuffer(command, [command === 'eval' ? script.source : script.sha, ...keysOf(client, key), ...args])
    }
    if (wait) pipeline.callBuffer(wait.command, waitArguments(wait))
    const allowMs = (wait?.timeoutMs ?? 0) + sendingMs(calls.flatMap(({ args }) => args))
    const answers = (await this.#link.watch.during(pipeline.exec(), allowMs)) ?? []
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
    // The client follows one command to where its slot is now, but not several of which one, the wait, has no slot.
    if (hasMoved) await this.#link.watch.during(client.callBuffer('exists', [calls[0]!.key]))
    return notRun
  }
}

function waitArguments({ command, replicas, timeoutMs }: Wait): string[] {
  return command === 'wait' ? [String(replicas), String(timeoutMs)] : ['1', String(replicas), String(timeoutMs)]
}

/** What was written stands, but not where it was to be. */
function waitFailure(wait: Wait, [error, answer]: [Error | null, unknown?] = [new Error('not answered')]): unknown {
  const data = { transient: true, maybeApplied: true }
  if (error) return storageError(`Redis: ${wait.command.toUpperCase()} failed: ${error.message}`, data)
  const [synced, replicas] = wait.command === 'wait' ? [1, Number(answer)] : (answer as unknown[]).map(Number)
  if (synced! < 1) {
    const message = `Redis: written, but not synced to disk within ${wait.timeoutMs} ms`
    return storageError(message, { ...data, reason: 'not_synced' })
  }
  if (replicas! >= wait.replicas) return undefined
  const message = `Redis: written, but ${replicas} of ${wait.replicas} replicas had it within ${wait.timeoutMs} ms`
  return storageError(message, { ...data, reason: 'not_replicated' })
}

/** The part of a key that decides its slot. */
export function hashTag(key: string): string {
  const from = key.indexOf('{')
  const to = from < 0 ? -1 : key.indexOf('}', from + 1)
  return to > from + 1 ? key.slice(from + 1, to) : key
}
