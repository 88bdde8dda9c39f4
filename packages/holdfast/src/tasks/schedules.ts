// Schedules of tasks: declared with a task, or put at run time. They belong to the queue of createTasks(), so that a name means one
// schedule, and every process that listens on that queue fires them.

import { readable } from '../copy-option.ts'
import { scheduleCalls, type ScheduleCalls, splitSchedule } from '../engine/schedule/schedule-calls.ts'
import { checkScheduleName, type ScheduleRule } from '../engine/schedule/schedule.ts'
import type { NewSchedule } from '../engine/schedule/schedule-store.ts'
import { Scheduler } from '../engine/schedule/scheduler.ts'
import type { ScheduleInfo } from '../engine/schedule/schedules.ts'
import type { StoredSchedule } from '../engine/schedule/stored-schedule.ts'
import { HoldfastError, invalidArgument } from '../errors.ts'
import type { DefinedTask, Definitions, TaskDefinition } from './define.ts'
import { scheduledTaskOptions } from './options.ts'
import type { JobOptions, MessageQueue } from './queue/message-queue.ts'
import { type Scheduling, schedulingOf } from './queue/storage-message-queue.ts'
import { decodeMessage, encodeMessage } from './queue/stored-message.ts'
import type { Queues } from './queue/queues.ts'
import { validate } from './schema.ts'
import { decodeData, encodeData, type TaskMessage, taskMessageOf } from './task-message.ts'

/** A schedule of a task: when it fires, the data of its runs, and their options. */
export interface TaskSchedule<Input> extends ScheduleRule, JobOptions {
  /** Data of every task of the schedule, fixed when it is stored. */
  readonly data: Input
}

/** A schedule of a task, as list() shows it. */
export interface TaskScheduleInfo extends ScheduleInfo {
  /** Name of the task. */
  readonly task: string
  /** Data of its tasks. */
  readonly data: unknown
}

/** The schedules of tasks: `tasks.schedules`. They need a queue over a Holdfast storage: any call @throws FEATURE_UNSUPPORTED else. */
export interface TaskSchedules extends ScheduleCalls<TaskScheduleInfo> {
  /**
   * Stores a schedule under a name, or replaces the one that has it. Of a changed one, only slots from now on are fired. Every started
   * process of the queue fires it.
   * @throws INVALID_ARGUMENT, also for a rule that never matches; MISSING_DEPENDENCY without croner; SCHEMA_REJECTED, UNKNOWN_TASK
   */
  put<I>(name: string, schedule: TaskSchedule<NoInfer<I>> & { readonly task: TaskDefinition<I, any> }): Promise<void>
}

interface Dependencies {
  readonly definitions: Definitions
  readonly queues: Queues
}

export function taskSchedules(env: Dependencies, assertOpen: () => void): TaskSchedules {
  const calls = () => {
    assertOpen()
    const scheduling = requiredScheduling(env.queues.main)
    return scheduleCalls(
      scheduling,
      (name, { task, ...given }: TaskSchedule<unknown> & { readonly task: unknown }) =>
        newScheduleOf(env, scheduling, name, env.definitions.ofHandle(task), given),
      (info, stored) => shownSchedule(scheduling, info, stored),
    )
  }
  return {
    put: async (name, schedule) => calls().put(name, schedule),
    remove: async (name) => calls().remove(name),
    list: async () => calls().list(),
    pause: async (name, options) => calls().pause(name, options),
    resume: async (name) => calls().resume(name),
    fire: async (name) => calls().fire(name),
    preview: async (name, count) => calls().preview(name, count),
  }
}

/** What fires the schedules of the queue. Undefined: it is no queue over a Holdfast storage, and no task has schedules. */
export async function schedulerOf(env: Dependencies, release: number): Promise<Scheduler | undefined> {
  const declaring = [...env.definitions].filter(({ schedules }) => schedules !== undefined)
  if (declaring.length === 0 && !schedulingOf(env.queues.main)) return undefined
  const scheduling = requiredScheduling(env.queues.main)
  const limited = [...env.definitions].filter(({ isLimited }) => isLimited)
  const served = new Set([scheduling.owner, ...limited.map(({ queue }) => schedulingOf(queue)!.owner)])
  const declared: NewSchedule[] = []
  for (const task of declaring) {
    for (const [name, given] of readable('schedules', () => Object.entries(task.schedules!))) {
      declared.push(await newScheduleOf(env, scheduling, name, task, given))
    }
  }
  return new Scheduler({
    ...scheduling,
    isServed: (type) => served.has(type),
    declared: declaring.length === 0 ? undefined : declared,
    release,
  })
}

function requiredScheduling(queue: MessageQueue | undefined): Scheduling {
  const scheduling = schedulingOf(queue)
  if (scheduling) return scheduling
  const message = 'tasks: schedules need a queue over a Holdfast storage. Pass storage to createTasks().'
  throw new HoldfastError('FEATURE_UNSUPPORTED', message, { what: 'schedules' })
}

/** @throws INVALID_ARGUMENT, SCHEMA_REJECTED, SERIALIZATION_ERROR, TOO_LARGE */
async function newScheduleOf(
  { queues }: Dependencies,
  { owner, retention, encoding }: Scheduling,
  name: string,
  task: DefinedTask,
  given: TaskSchedule<unknown>,
): Promise<NewSchedule> {
  checkScheduleName(name)
  // The queue of a task with limits has the options of the main one.
  const type = task.isLimited ? schedulingOf(task.queue)!.owner : owner
  if (!task.isLimited && queues.of(task)?.queue !== queues.main) {
    throw invalidArgument(`schedule '${name}'`, 'a task without a queue of its own', task.name)
  }
  const { rule, rest } = splitSchedule(name, given, scheduledTaskOptions)
  const { data, ...options } = rest
  await validate(task.schema, data)
  // The same bytes for every slot: id and time of a run are those of its message in the storage.
  const message: TaskMessage = {
    v: 1,
    type: 'holdfast.task',
    id: '',
    task: task.name,
    data: encodeData(data),
    enqueuedAt: 0,
    attempt: 1,
  }
  return { name, ...rule, job: { ...options, type, retention, payload: encodeMessage(message, encoding) } }
}

function shownSchedule({ encoding }: Scheduling, info: ScheduleInfo, { job }: StoredSchedule): TaskScheduleInfo {
  const message = taskMessageOf(decodeMessage(encoding.serde, job.payload), 0)
  return { ...info, task: message?.task ?? '', data: message && decodeData(message.data) }
}
