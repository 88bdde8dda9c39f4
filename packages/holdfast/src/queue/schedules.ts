// The schedules of a Queue: declared in its options, or put at run time.

import { readable } from '../copy-option.ts'
import type { PublishEvent } from '../engine/events.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import { decode } from '../engine/job/serde.ts'
import { checkScheduleName, type ScheduleRule } from '../engine/schedule/schedule.ts'
import { type ScheduleCalls, scheduleCalls, splitSchedule } from '../engine/schedule/schedule-calls.ts'
import type { NewSchedule } from '../engine/schedule/schedule-store.ts'
import type { ScheduleInfo } from '../engine/schedule/schedules.ts'
import { draftOf } from './draft.ts'
import type { JobOptions } from './enqueue.ts'
import { scheduledJobOptions } from './options.ts'
import type { ResolvedQueueConfig } from './queue-config.ts'

/** A schedule of a Queue: when it fires, the payload of its jobs, and their options. */
export interface QueueSchedule<TPayload>
  extends
    ScheduleRule,
    Pick<JobOptions, 'priority' | 'weight' | 'maxAttempts' | 'timeoutMs' | 'expiresInMs' | 'retention' | 'search'> {
  /** Payload of every job of the schedule, fixed when it is stored. */
  readonly payload: TPayload
}

/** A schedule of a Queue, as list() shows it. */
export interface QueueScheduleInfo<TPayload> extends ScheduleInfo {
  /** Payload of its jobs. */
  readonly payload: TPayload
}

/** The schedules of a queue: `queue.schedules`. */
export interface QueueSchedules<TPayload> extends ScheduleCalls<QueueScheduleInfo<TPayload>> {
  /**
   * Stores a schedule under a name, or replaces the one that has it. Of a changed one, only slots from now on are fired. Every started
   * queue of this name that has a handler or declares schedules fires it.
   * @throws INVALID_ARGUMENT, also for a rule that never matches; MISSING_DEPENDENCY without croner; as enqueue() for the payload
   */
  put(name: string, schedule: QueueSchedule<TPayload>): Promise<void>
}

/** @throws as QueueSchedules.put, but for what croner says of the rule */
function scheduleOf<P, R>(name: string, given: QueueSchedule<P>, config: ResolvedQueueConfig<P, R>): NewSchedule {
  checkScheduleName(name)
  const { rule, rest } = splitSchedule(name, given, scheduledJobOptions)
  const { payload, ...options } = rest
  const { id: _, token: __, deduplication: ___, group: ____, ...job } = draftOf(name, payload, options, config)
  return { name, ...rule, job }
}

/** The schedules that the options declare. @throws as scheduleOf */
export function declaredSchedules<P, R>(config: ResolvedQueueConfig<P, R>): NewSchedule[] | undefined {
  const { schedules } = config
  if (schedules === undefined) return undefined
  return readable('schedules', () => Object.entries(schedules)).map(([name, given]) => scheduleOf(name, given, config))
}

export function queueSchedules<P, R>(
  config: ResolvedQueueConfig<P, R>,
  storage: GuardedStorage,
  publishEvent: PublishEvent,
  whenConnected: <T>(call: () => Promise<T>) => Promise<T>,
): QueueSchedules<P> {
  const { type: owner, clock, payloadSerde } = config
  return scheduleCalls(
    { storage, clock, owner, publishEvent, whenConnected },
    (name, given: QueueSchedule<P>) => scheduleOf(name, given, config),
    (info, { job }) => ({ ...info, payload: decode('payload', payloadSerde, job.payload) }),
  )
}
