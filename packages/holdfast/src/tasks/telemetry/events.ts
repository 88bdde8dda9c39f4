// The events of tasks: for listeners of `tasks.on`, and for this whole process by
//
//   diagnostics_channel.subscribe('holdfast.tasks', (event) => …)
//
// Neither keys nor payloads are in them.

import { channel } from 'node:diagnostics_channel'
import type { RateLimitScope } from '../../errors.ts'
import type { Log } from './log.ts'

/** Why an attempt failed. */
export type TaskFailure = 'handler' | 'validation' | 'deserialization' | 'unknown_task' | 'retry_enqueue'

interface OfTask {
  /** Name of the task. Of a task that this worker does not define: as the message has it. */
  readonly task: string
  /** Name of a storage's queue, else 'task', 'fallback' or 'own'. */
  readonly queue: string
  readonly id: string
}

export type TaskEvent =
  | ({ readonly name: 'enqueued' } & OfTask)
  /** A skip: the id is that of the message that has the key, if it is known. */
  | ({ readonly name: 'deduplicated'; readonly path: 'native' | 'kv' } & Omit<OfTask, 'id'> & {
        readonly id?: string | undefined
      })
  | ({ readonly name: 'started'; readonly attempt: number } & OfTask)
  | ({ readonly name: 'completed'; readonly attempt: number; readonly durationMs: number } & OfTask)
  | ({ readonly name: 'retried'; readonly delayMs?: number | undefined } & FailedEvent)
  | ({ readonly name: 'failed' } & FailedEvent)
  /** The run ended because its message was cancelled. */
  | ({ readonly name: 'cancelled'; readonly attempt: number; readonly durationMs: number } & OfTask)
  /** The run was told to slow down (rateLimited). A `released` follows. */
  | ({
      readonly name: 'rate_limited'
      readonly attempt: number
      readonly scope: RateLimitScope
      readonly retryAfterMs: number
    } & OfTask)
  /** Ended by a stop, a snooze or rateLimited(): no attempt was spent. */
  | ({ readonly name: 'released'; readonly attempt: number; readonly durationMs: number } & OfTask)

interface FailedEvent extends OfTask {
  /** Whether this worker defines the task. If not, its name is as the message has it. */
  readonly defined: boolean
  readonly attempt: number
  readonly reason: TaskFailure
  readonly error: unknown
  /** If the handler had started. */
  readonly durationMs?: number | undefined
}

export type TaskListener = (event: TaskEvent) => void

const everything = channel('holdfast.tasks')

/** Publishes on the channel of this process. */
export function publish(event: TaskEvent): void {
  if (everything.hasSubscribers) everything.publish(event)
}

export class TaskEvents {
  readonly #listeners = new Map<TaskEvent['name'], Set<TaskListener>>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  on(name: TaskEvent['name'], listener: TaskListener): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
    return () => void listeners.delete(listener)
  }

  /** What a listener throws is logged. */
  publishEvent(event: TaskEvent): void {
    publish(event)
    for (const listener of this.#listeners.get(event.name) ?? []) {
      try {
        listener(event)
      } catch (error) {
        this.#log.error({ err: error }, `tasks: a listener of '${event.name}' failed`)
      }
    }
  }
}
