// Tasks by name, and the handles that stand for them.

import type { Clock } from '../clock.ts'
import type { Backoff } from '../engine/job/backoff.ts'
import type { Directive } from '../engine/job/directives.ts'
import type { LimitsOptions } from '../engine/limits/limits-options.ts'
import type { ErrorAnswer } from '../engine/work/decision.ts'
import type { JobSchedule } from '../engine/schedule/slot-job.ts'
import { invalidArgument, printable, usageError } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import { checkDurations } from './foreign-durations.ts'
import type { MessageQueue } from './queue/message-queue.ts'
import { checkMessageKey, taskOptions } from './options.ts'
import { ownRetry, policyOf, refuseBoth, type Retry, type RetryPolicy } from './retry.ts'
import type { TaskSchedule } from './schedules.ts'
import { checkSchema, type InferInput, type InferOutput, type StandardSchemaV1 } from './schema.ts'
import type { Tasks } from './tasks.ts'

/** What a handler is given beside its data. */
export interface TaskContext {
  /** Id of the message: the same in every run of the task. */
  readonly id: string
  /** Name of the task. */
  readonly task: string
  /** Number of this run, from 1; released runs do not count. */
  readonly attempt: number
  /** Epoch ms. */
  readonly enqueuedAt: number
  /** The ordering key, or the key of the group. */
  readonly orderingKey?: string | undefined
  /** The schedule that added the message, and the slot. Undefined: none did. */
  readonly schedule?: JobSchedule | undefined
  /**
   * Aborts when this run should end: over its `timeoutMs`, by a stop, by a cancel, or when its lease is lost. On a foreign queue by
   * `timeoutMs` alone.
   */
  readonly signal: AbortSignal
  /**
   * Reports how far this run has come: any JSON value of at most 4 KiB, of which the last is stored with the message. Dropped on a
   * foreign queue, and once the run is over. @throws SerializationError, TOO_LARGE, INVALID_ARGUMENT
   */
  progress(value: unknown): void
  /** Adds a line of at most 8 KiB to the log of the message. Dropped as `progress` is. @throws INVALID_ARGUMENT */
  log(text: string, fields?: Readonly<Record<string, unknown>>): void
  /** The tasks that this one belongs to: to enqueue others from its handler. */
  readonly tasks: Tasks
}

/** Options of defineTask(). */
export interface TaskOptions<S extends StandardSchemaV1> {
  /** Any Standard Schema v1. Checks the data at the enqueue, and at every run makes the data that the handler gets. */
  readonly schema: S
  /** Runs the task. May return or throw snooze(), rateLimited(), retry() or fail(). */
  readonly handler: (context: TaskContext, data: InferOutput<S>) => void | Directive | Promise<void | Directive>
  /** Runs in all, the first included. @default the tasks' */
  readonly maxAttempts?: number | undefined
  /** Pause before the next run of a task that failed. @default the tasks' */
  readonly backoff?: Backoff | undefined
  /** Alias of maxAttempts and backoff, as one function. Not together with either. */
  readonly retryPolicy?: RetryPolicy | undefined
  /** Longest run of the handler, in ms; then its signal aborts, and the run counts as failed. @default the tasks' */
  readonly timeoutMs?: number | undefined
  /**
   * Runs before the retry or the failure is recorded. It may answer retry(), retry({ delayMs }), fail(), snooze(…) or rateLimited(…) to
   * decide what comes next; undefined is the normal course. A task without runs left fails whatever retry() says. What it throws is logged and changes
   * nothing.
   */
  readonly onError?:
    | ((
        context: TaskContext & { readonly nextDelayMs: number | null },
        error: unknown,
        data: InferOutput<S>,
      ) => ErrorAnswer | Promise<ErrorAnswer>)
    | undefined
  /** The queue of this task alone. @default by resolution */
  readonly queue?: MessageQueue | undefined
  /**
   * Limits of the task and of its groups, over all processes: `concurrency`, `rate`, `maxWaiting`, `group`. The task gets a message queue of
   * its own, beside that of createTasks() and with its options, of the name `<queue>/<task>`. All processes should declare them. Not
   * together with `queue`: a StorageMessageQueue has limits of its own. @default none
   */
  readonly limits?: LimitsOptions | undefined
  /**
   * Schedules by name, unique over all tasks, stored at start(): new ones are added, changed ones replaced. Every started process of the
   * queue fires them, and the storage adds one message per slot. They need the queue of createTasks(), over a Holdfast storage.
   */
  readonly schedules?: Readonly<Record<string, TaskSchedule<InferInput<S>>>> | undefined
}

/** The handle of a task, for enqueueTask. Compared by identity. */
export interface TaskDefinition<Input, Output> {
  /** Name of the task. */
  readonly name: string
  /** For the types only: never present. */
  readonly '~types'?: { readonly input: Input; readonly output: Output }
}

/** Complete: everything that a worker needs. */
export interface DefinedTask {
  readonly name: string
  readonly schema: StandardSchemaV1
  handler(context: TaskContext, data: unknown): void | Directive | Promise<void | Directive>
  /** Absent: the one of createTasks. */
  readonly retryPolicy: RetryPolicy | undefined
  readonly timeoutMs: number | undefined
  readonly onError: TaskOptions<StandardSchemaV1>['onError']
  readonly queue: MessageQueue | undefined
  /** Its queue was made for its limits, beside the one of createTasks(). */
  readonly isLimited: boolean
  readonly schedules: Readonly<Record<string, TaskSchedule<unknown>>> | undefined
}

/** What a task inherits from createTasks. */
interface Inherited {
  readonly retry: Retry
  readonly timeoutMs: number | undefined
  readonly clock: Clock
  onError(error: Error): void
  /** Makes the queue of a task with limits. @throws FEATURE_UNSUPPORTED */
  limitedQueue(task: string, limits: LimitsOptions): MessageQueue
}

export class Definitions {
  readonly #inherited: Inherited
  readonly #byName = new Map<string, DefinedTask>()
  readonly #byHandle = new Map<unknown, DefinedTask>()

  constructor(inherited: Inherited) {
    this.#inherited = inherited
  }

  /** @throws TypeError INVALID_TASK_NAME, TASK_ALREADY_DEFINED, INVALID_SCHEMA, INVALID_ARGUMENT */
  define<S extends StandardSchemaV1>(name: string, options: TaskOptions<S>): TaskDefinition<never, never> {
    checkMessageKey('INVALID_TASK_NAME', 'name', name, 256)
    if (this.#byName.has(name)) {
      const message = `task '${name}': it is defined already. Define each task once, and share its handle.`
      throw usageError('TASK_ALREADY_DEFINED', message, { task: name })
    }
    const task = this.#resolve(name, options)
    const handle = Object.freeze({ name })
    this.#byName.set(name, task)
    this.#byHandle.set(handle, task)
    return handle
  }

  #resolve<S extends StandardSchemaV1>(name: string, options: TaskOptions<S>): DefinedTask {
    refuseBoth('defineTask', options, 'retryPolicy')
    const resolved = resolveOptions('defineTask', options, taskOptions)
    checkSchema(resolved.schema)
    taskOptions.handler.check('handler', resolved.handler)
    if (resolved.queue) checkDurations('queue', resolved.queue, 'fedifyQueue')
    const { clock, onError, retry: inherited } = this.#inherited
    const retry = ownRetry(resolved, inherited)
    const { limits } = resolved
    if (limits && resolved.queue) {
      throw invalidArgument('limits', 'no queue beside it: give the limits to that queue', limits)
    }
    const schedules = this.#checkedSchedules(resolved.schedules)
    return {
      name,
      schema: resolved.schema,
      handler: resolved.handler.bind(options) as DefinedTask['handler'],
      retryPolicy: retry && policyOf(retry, clock, onError),
      timeoutMs: resolved.timeoutMs ?? this.#inherited.timeoutMs,
      onError: resolved.onError?.bind(options) as DefinedTask['onError'],
      queue: limits ? this.#inherited.limitedQueue(name, limits) : resolved.queue,
      isLimited: limits !== undefined,
      schedules,
    }
  }

  /** @throws TypeError INVALID_ARGUMENT */
  #checkedSchedules(given: object | undefined): DefinedTask['schedules'] {
    const schedules = given as DefinedTask['schedules']
    for (const name of Object.keys(schedules ?? {})) {
      const other = [...this].find((task) => task.schedules && Object.hasOwn(task.schedules, name))
      if (other) throw invalidArgument('schedules', `a name that task '${other.name}' does not have`, name)
    }
    return schedules
  }

  /** @throws TypeError UNKNOWN_TASK */
  ofHandle(handle: unknown): DefinedTask {
    const task = this.#byHandle.get(handle)
    if (task) return task
    const message = `task: expected a handle that defineTask() of these tasks returned, got ${printable(handle)}`
    throw usageError('UNKNOWN_TASK', message)
  }

  ofName(name: string): DefinedTask | undefined {
    return this.#byName.get(name)
  }

  [Symbol.iterator](): Iterator<DefinedTask> {
    return this.#byName.values()
  }
}
