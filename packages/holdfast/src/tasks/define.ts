// Tasks by name, and the handles that stand for them.

import { printable, usageError } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { MessageQueue } from './queue/message-queue.ts'
import { checkMessageKey, taskOptions } from './options.ts'
import type { RetryPolicy } from './retry.ts'
import { checkSchema, type InferOutput, type StandardSchemaV1 } from './schema.ts'
import type { Tasks } from './tasks.ts'

/** What a handler is told beside its data. */
export interface TaskContext {
  readonly id: string
  /** The task's name. */
  readonly task: string
  /** This run included, from 1. */
  readonly attempt: number
  /** Epoch ms. */
  readonly enqueuedAt: number
  readonly orderingKey?: string
  /** Aborts when this run should end; on a foreign queue, never. */
  readonly signal: AbortSignal
  readonly tasks: Tasks
}

export interface TaskOptions<S extends StandardSchemaV1> {
  /** Any Standard Schema v1. Checks at the enqueue, and makes at every attempt what the handler gets. */
  readonly schema: S
  handler(context: TaskContext, data: InferOutput<S>): void | Promise<void>
  /** @default the tasks' taskRetryPolicy */
  readonly retryPolicy?: RetryPolicy
  /** Runs before the retry or the failure is recorded. What it throws is reported and changes nothing. */
  onError?(
    context: TaskContext & { readonly nextDelayMs: number | null },
    error: unknown,
    data: InferOutput<S>,
  ): void | Promise<void>
  /** @default by resolution */
  readonly queue?: MessageQueue
}

/** The handle of a task, for enqueueTask. Compared by identity. */
export interface TaskDefinition<Input, Output> {
  readonly name: string
  /** Only for the types: never there. */
  readonly '~types'?: { readonly input: Input; readonly output: Output }
}

/** With everything that a worker needs. */
export interface DefinedTask {
  readonly name: string
  readonly schema: StandardSchemaV1
  handler(context: TaskContext, data: unknown): void | Promise<void>
  readonly retryPolicy: RetryPolicy | undefined
  readonly onError: TaskOptions<StandardSchemaV1>['onError']
  readonly queue: MessageQueue | undefined
}

export class Definitions {
  readonly #byName = new Map<string, DefinedTask>()
  readonly #byHandle = new Map<unknown, DefinedTask>()

  /** @throws TypeError INVALID_TASK_NAME, TASK_ALREADY_DEFINED, INVALID_SCHEMA, INVALID_ARGUMENT */
  define<S extends StandardSchemaV1>(name: string, options: TaskOptions<S>): TaskDefinition<never, never> {
    checkMessageKey('INVALID_TASK_NAME', 'name', name, 256)
    if (this.#byName.has(name))
      throw usageError('TASK_ALREADY_DEFINED', `the task '${name}' is defined already`, { task: name })
    const { schema, handler, retryPolicy, onError, queue } = resolveOptions('defineTask', options, taskOptions)
    checkSchema(schema)
    taskOptions.handler.check('handler', handler)
    const task = { name, schema, handler: handler.bind(options), retryPolicy, onError: onError?.bind(options), queue }
    const handle = Object.freeze({ name })
    this.#byName.set(name, task as DefinedTask)
    this.#byHandle.set(handle, task as DefinedTask)
    return handle
  }

  /** @throws TypeError UNKNOWN_TASK */
  ofHandle(handle: unknown): DefinedTask {
    const task = this.#byHandle.get(handle)
    if (task) return task
    throw usageError(
      'UNKNOWN_TASK',
      `task: expected what defineTask() of these tasks returned, got ${printable(handle)}`,
    )
  }

  ofName(name: string): DefinedTask | undefined {
    return this.#byName.get(name)
  }

  [Symbol.iterator](): Iterator<DefinedTask> {
    return this.#byName.values()
  }
}
