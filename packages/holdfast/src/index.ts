// holdfast: the Queue and the Reaper, their errors and events, and the memory driver.

import './node-version.ts'

export { type Clock, generateId } from './clock.ts'
export type { Logger } from './engine/emit.ts'
export {
  AttemptAbortedError,
  type AttemptSignal,
  BatchInterruptedError,
  DuplicateJobError,
  type ErrorCode,
  errorCodes,
  type ErrorDetails,
  HoldfastError,
  isHoldfastError,
  JobCancelledError,
  type JobAbortReason,
  JobFailedError,
  JobNotFoundError,
  MaxRetriesError,
  QueueFullError,
  RateLimitedError,
  type RateLimitScope,
  RetryJobError,
  SerializationError,
  StorageError,
  TimeoutError,
  UnrecoverableError,
} from './errors.ts'
export { createAdmin } from './admin/create-admin.ts'
export type {
  Admin,
  AdminBulk,
  AdminJobFilter,
  AdminJobQuery,
  AdminJobs,
  AdminLimits,
  AdminScheduleInfo,
  AdminSchedules,
  NamedSchedule,
  AdminOptions,
  TypeFilter,
} from './admin/admin.ts'
export type { SeenFinding } from './engine/doctor/seen-findings.ts'
export type { History, HistoryPoint, HistoryRange, HistoryType } from './engine/history/read-history.ts'
export type { AdminAudit, AuditEntry, AuditPage, AuditQuery } from './admin/audit.ts'
export type { AddJobOptions, AddJobResult } from './admin/add-job.ts'
export type { ReplayOptions, ReplayResult } from './admin/replay.ts'
export type { JobTree, TreeJob } from './engine/operate/job-tree.ts'
export type { EventCounters } from './admin/counters.ts'
export type { FleetEvent, FleetEventStream } from './admin/fleet-events.ts'
export type { NamedType } from './admin/options.ts'
export type { ScheduleRun, ScheduleRuns } from './admin/schedule-runs.ts'
export type { SweepResult } from './admin/sweep.ts'
export { type ConfiguredWorker, defineConfig, type HoldfastConfig } from './cli/config.ts'
export type { BulkAction, BulkOptions, BulkProgress, BulkResult } from './engine/operate/bulk-action.ts'
export type { RedriveOptions } from './engine/operate/bulk.ts'
export type { CancelOptions, CancelResult, OperatorCancelOptions } from './engine/operate/cancel.ts'
export type { JobDetails } from './engine/operate/job-details.ts'
export type { JobFilter, JobQuery } from './engine/operate/job-filter.ts'
export type { JobItem, NamedJob } from './engine/operate/job-item.ts'
export type { JobPage } from './engine/operate/list-jobs.ts'
export type { OperatorCancelResult, RemoveResult, RetryResult } from './engine/operate/results.ts'
export type { TypeSummary } from './engine/operate/type-summary.ts'
export type { DrainWaitingOptions, QueuePauseOptions } from './queue/operating.ts'
export type { EventStream, QueueEvent } from './queue/event-stream.ts'
export type { Explanation, Reason, ReasonCode } from './engine/explain/explanation.ts'
export { type Backoff, delayAfter } from './engine/job/backoff.ts'
export type { DeadLetter } from './queue/dead-letter.ts'
export { contentId } from './queue/content-id.ts'
export type { Health, HealthCode, HealthReason } from './engine/health.ts'
export { healthHandler, type HealthSource } from './engine/health-handler.ts'
export type {
  EnqueueAndWaitOptions,
  EnqueueItemResult,
  EnqueueOptions,
  EnqueueResult,
  JobOptions,
  OnDuplicate,
} from './queue/enqueue.ts'
export type { GroupLimitsInfo, LimitsInfo, LimitsUse, ReadLimitsOptions } from './engine/limits/limits-calls.ts'
export type {
  GroupLimitsOptions,
  GroupLimitsPatch,
  LimitsOptions,
  LimitsPatch,
  RateOptions,
  SetLimitsOptions,
} from './engine/limits/limits-options.ts'
export type { LimitsOverride } from './engine/limits/stored-limits.ts'
export type { EnqueueItem, EnqueueManyOptions } from './queue/enqueue-many.ts'
export type { RescheduleOptions, RescheduleResult, RunNowOptions } from './engine/operate/reschedule.ts'
export type {
  AscendingDeduplication,
  DebounceDeduplication,
  DeduplicationOptions,
  FollowUpDeduplication,
  OnceDeduplication,
} from './engine/job/deduplication.ts'
export type { GroupOptions, SharedJobOptions } from './engine/job/job-options.ts'
export type { AttemptView, DecodedPart, JobView, Undecodable } from './engine/job/job-view.ts'
export type { JobLog, JobLogLine, LogOptions } from './engine/job/log-lines.ts'
export type { GivenFields, SearchFieldTypes } from './engine/job/search-fields.ts'
export type { KeptRecords, RetentionOptions, TypeRetentionOptions } from './engine/job/retention.ts'
export { createJsonSerde, JsonSerde, type Serde } from './engine/job/serde.ts'
export type { MessageState, MessageStatus, UpdateResultTTLResult } from './queue/status.ts'
export { Queue } from './queue/queue.ts'
export type { QueueConfig, QueueStopOptions } from './queue/queue-config.ts'
export type { QueueEvents } from './queue/queue-events.ts'
export { MemoryStorage, type MemoryStorageOptions } from './storage/memory/memory-storage.ts'
export { type LeaderElection, Reaper, type ReaperConfig, type ReaperEvents } from './queue/reaper.ts'
export type { AfterExecutionContext } from './queue/after-execution.ts'
export type { Job, JobHandler } from './queue/handler.ts'
export type { QueueSchedule, QueueScheduleInfo, QueueSchedules } from './queue/schedules.ts'
export type { ScheduleRule } from './engine/schedule/schedule.ts'
export type { ScheduleCalls } from './engine/schedule/schedule-calls.ts'
export type { ScheduleInfo } from './engine/schedule/schedules.ts'
export type { PreviewedSlot } from './engine/schedule/preview.ts'
export type { JobSchedule } from './engine/schedule/slot-job.ts'
export type { WorkerInfo } from './engine/work/presence.ts'
export {
  fail,
  rateLimited,
  type RateLimitedOptions,
  retry,
  type RetryOptions,
  snooze,
  type SnoozeOptions,
} from './engine/job/directives.ts'
export type { ErrorAnswer } from './engine/work/decision.ts'
export type { RunOptions } from './engine/lifecycle.ts'
// For packages that build on a Queue and have a connection of their own.
export { retryUntilReady } from './engine/retry-until-ready.ts'
export type { Finding, SearchFields, SearchValue, Storage } from './storage/storage.ts'
