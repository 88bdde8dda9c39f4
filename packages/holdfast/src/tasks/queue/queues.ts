// Which queue a task uses: its own, then the one for tasks, then the fallback, unless resolution is strict.

import { usageError } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import type { DefinedTask } from '../define.ts'
import { checkDurations } from '../foreign-durations.ts'
import type { MessageQueue } from './message-queue.ts'
import { isMessageQueue, queuesOptions } from '../options.ts'

export interface TaskQueues {
  /** For tasks without a queue of their own. */
  readonly task?: MessageQueue | undefined
  /** Where there is no `task`. */
  readonly fallback?: MessageQueue | undefined
}

export interface NamedQueue {
  readonly queue: MessageQueue
  /** For events. */
  readonly name: string
}

export class Queues {
  readonly #task: MessageQueue | undefined
  readonly #fallback: MessageQueue | undefined

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(given: MessageQueue | TaskQueues | undefined, resolution: 'fallback' | 'strict') {
    const isBare = given !== undefined && ('enqueue' in given || 'listen' in given)
    if (isBare) isMessageQueue('queue', given)
    const { task, fallback } = isBare
      ? { task: given as MessageQueue, fallback: undefined }
      : resolveOptions('queue', given as TaskQueues | undefined, queuesOptions)
    for (const [name, queue] of Object.entries({ task, fallback })) {
      if (queue) checkDurations(`queue.${name}`, queue, 'fedifyQueue')
    }
    this.#task = task
    this.#fallback = resolution === 'strict' ? undefined : fallback
  }

  /** Of tasks without one of their own. */
  get main(): MessageQueue | undefined {
    return this.#task ?? this.#fallback
  }

  of(task: DefinedTask): NamedQueue | undefined {
    const queue = task.queue ?? this.main
    return queue && { queue, name: this.nameOf(queue) }
  }

  /** @throws TypeError NO_TASK_QUEUE */
  required(task: DefinedTask): NamedQueue {
    const named = this.of(task)
    if (named) return named
    const message = `task '${task.name}': expected a queue, got none. Pass queue or storage to createTasks(), or queue to defineTask().`
    throw usageError('NO_TASK_QUEUE', message, { task: task.name })
  }

  /** Every distinct queue. */
  all(tasks: Iterable<DefinedTask>): Set<MessageQueue> {
    const queues = new Set<MessageQueue>()
    for (const queue of [this.#task, this.#fallback]) if (queue) queues.add(queue)
    for (const { queue } of tasks) if (queue) queues.add(queue)
    return queues
  }

  nameOf(queue: MessageQueue): string {
    const { name } = queue as { name?: unknown }
    if (typeof name === 'string') return name
    return queue === this.#task ? 'task' : queue === this.#fallback ? 'fallback' : 'own'
  }
}
