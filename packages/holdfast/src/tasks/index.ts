// holdfast/tasks: typed tasks over any message queue, and the queue and key-value store over any Holdfast storage.

import '../node-version.ts'
export {
  fail,
  rateLimited,
  type RateLimitedOptions,
  retry,
  type RetryOptions,
  snooze,
  type SnoozeOptions,
} from '../engine/job/directives.ts'
export type { GroupOptions } from '../engine/job/job-options.ts'
export type { GroupLimitsOptions, LimitsOptions, RateOptions } from '../engine/limits/limits-options.ts'
export type { ErrorAnswer } from '../engine/work/decision.ts'
export type { TaskContext, TaskDefinition, TaskOptions } from './define.ts'
export { type Duration, type DurationFields, toMs } from './duration.ts'
export type { EnqueueManyResult, EnqueueTaskResult, TaskEnqueueManyOptions, TaskEnqueueOptions } from './enqueue.ts'
export { publish as publishTaskEvent, type TaskEvent, type TaskFailure, type TaskListener } from './telemetry/events.ts'
export type { KvStore, StoreEntry, StoreKey as KvKey, StoreWrite } from './kv/kv-store.ts'
export type { FailedTask, StoredTask } from './operate.ts'
export { BatchInterruptedError, QueueFullError, type RateLimitScope } from '../errors.ts'
// The names that queues of other packages use for them.
export type {
  CancelOptions as CancelMessageOptions,
  CancelResult as CancelMessageResult,
} from '../engine/operate/cancel.ts'
export type {
  ConsumeOptions,
  Consumer,
  Delivery,
  DueOptions,
  EnqueueReceipt,
  ExtendedEnqueueOptions,
  GroupedOptions,
  JobOptions,
  MessageHandler,
  MessageQueue,
  MessageQueueEnqueueOptions,
  QueueDepth,
  StorageQueueDepth,
} from './queue/message-queue.ts'
export { type Meter, meterTasks } from './telemetry/meter.ts'
export { kvPrefixes } from './kv/prefixes.ts'
export type { TaskQueues } from './queue/queues.ts'
export {
  exponentialBackoff,
  type ExponentialBackoffOptions,
  type FailedAttempt,
  RetryError,
  type RetryPolicy,
} from './retry.ts'
export type { TaskSchedule, TaskScheduleInfo, TaskSchedules } from './schedules.ts'
export type { ScheduleRule } from '../engine/schedule/schedule.ts'
export type { ScheduleCalls } from '../engine/schedule/schedule-calls.ts'
export type { ScheduleInfo } from '../engine/schedule/schedules.ts'
export type { PreviewedSlot } from '../engine/schedule/preview.ts'
export type { JobSchedule } from '../engine/schedule/slot-job.ts'
export type { InferInput, InferOutput, SchemaIssue, StandardSchemaV1 } from './schema.ts'
export { StorageKvStore, type StorageKvStoreOptions } from './kv/storage-kv-store.ts'
export { StorageMessageQueue } from './queue/storage-message-queue.ts'
export type { StorageMessageQueueOptions } from './queue/storage-queue-options.ts'
export type { AttemptView as MessageAttempt } from '../engine/job/job-view.ts'
export type { FailedMessage, MessageCounts, StoredMessage } from './queue/stored-message.ts'
export { createTasks, type Tasks } from './tasks.ts'
export type { TasksOptions } from './tasks-options.ts'
export { traceTasks, type TracingApi } from './telemetry/trace.ts'
