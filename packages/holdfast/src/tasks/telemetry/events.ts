// What tasks tell: to listeners of `tasks.on`, and to everybody in this process with
//
//   diagnostics_channel.subscribe('holdfast.tasks', (event) => …)
//
// Neither keys nor payloads are in it.

import { channel } from 'node:diagnostics_channel'
import type { Log } from './log.ts'

/** Why an attempt failed. */
export type TaskFailure = 'handler' | 'validation' | 'deserialization' | 'unknown_task' | 'retry_enqueue'

interface OfTask {
  /** Its name. As a message names it, where this worker does not have it. */
  readonly task: string
  /** The name of a storage queue, else 'task', 'fallback' or 'own'. */
  readonly queue: string
  readonly id: string
}

export type TaskEvent =
  | ({ readonly name: 'enqueued' } & OfTask)
  /** The id is the survivor's, if it is known. */
  | ({ readonly name: 'deduplicated'; readonly path: 'native' | 'kv' } & Omit<OfTask, 'id'> & { readonly id?: string })
  | ({ readonly name: 'started'; readonly attempt: number } & OfTask)
  | ({ readonly name: 'completed'; readonly attempt: number; readonly durationMs: number } & OfTask)
  | ({ readonly name: 'retried'; readonly delayMs?: number } & FailedEvent)
  | ({ readonly name: 'failed' } & FailedEvent)
  /** Ended by a stop: no attempt was spent. */
  | ({ readonly name: 'released'; readonly attempt: number; readonly durationMs: number } & OfTask)

interface FailedEvent extends OfTask {
  readonly attempt: number
  readonly reason: TaskFailure
  readonly error: unknown
  /** If its handler had started. */
  readonly durationMs?: number
}

export type TaskListener = (event: TaskEvent) => void

const everything = channel('holdfast.tasks')

/** Tells everybody in this process. */
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

  /** A listener that throws harms nobody but is heard of. */
  tell(event: TaskEvent): void {
    publish(event)
    for (const listener of this.#listeners.get(event.name) ?? []) {
      try {
        listener(event)
      } catch (error) {
        this.#log.error({ err: error }, `a listener of '${event.name}' failed`)
      }
    }
  }
}
