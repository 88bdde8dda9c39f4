// holdfast/chains: typed jobs that continue one another, wait for other chains, and commit with rows of your own.

import '../node-version.ts'
export { failJob, rescheduleJob } from './attempt/directives.ts'
export { createClient } from './client/client.ts'
export type { Log, LogEntry } from './events/log.ts'
export type { Notifier } from './events/notifier.ts'
export type { ChainEvent, Observer, ObserverEvent } from './events/observer.ts'
export {
  createJobTypeRegistry,
  type DefinitionsOf,
  defineJobTypes,
  type JobTypeChecks,
  type JobTypeRegistry,
} from './registry.ts'
export type {
  ChainFilter,
  Client,
  CancelChainOptions,
  ClientOptions,
  JobFilter,
  ListOptions,
  WaitOptions,
  WorkerlessComplete,
} from './types/client.ts'
export type {
  AttemptResult,
  Complete,
  Completion,
  JobAttemptMiddleware,
  Prepare,
  Process,
  ProcessContext,
} from './types/handler.ts'
export type { AttemptView } from '../engine/job/job-view.ts'
export type { ChainOutput, EntryName, InputOf, JobTypeDefinition, JobTypeName, OutputOf } from './types/job-types.ts'
export type {
  AnyRunningJob,
  BlockerChains,
  ChainFields,
  ChainRef,
  CompletedJobChain,
  JobChainOf,
  JobFields,
  JobOf,
  PageOf,
  ProcessingState,
  ReportFields,
  RunningJob,
} from './types/records.ts'
export type { TraceContext } from '../engine/tracing.ts'
export type { ChainSchedule, ChainScheduleInfo, ChainSchedules, ScheduledChainOptions } from './types/schedules.ts'
export type { ScheduleRule } from '../engine/schedule/schedule.ts'
export type { ScheduleCalls } from '../engine/schedule/schedule-calls.ts'
export type { ScheduleInfo } from '../engine/schedule/schedules.ts'
export type { PreviewedSlot } from '../engine/schedule/preview.ts'
export type { JobSchedule } from '../engine/schedule/slot-job.ts'
export type { SchemaDefinition, SchemaDefinitions } from './types/schema-definitions.ts'
export type {
  ChainDeduplication,
  ChainDeduplicationStrategy,
  Continuation,
  ContinueOptions,
  ContinueWith,
  Schedule,
  StartBlockers,
  StartedJobChain,
  StartItem,
  StartOptions,
  TxContext,
  TxOption,
} from './types/start-options.ts'
export type {
  AttemptOptions,
  InProcessWorker,
  InProcessWorkerOptions,
  JobTypeProcessing,
  JobTypeProcessor,
  JobTypeProcessors,
  LeaseConfig,
  RetryConfig,
  StopOptions,
} from './types/worker.ts'
export { createInProcessWorker } from './worker/worker.ts'
export type { RetentionCounts } from '../engine/job/retention.ts'
export { fail, rateLimited, retry, snooze } from '../engine/job/directives.ts'
export type { GroupLimitsOptions, LimitsOptions, RateOptions } from '../engine/limits/limits-options.ts'
export type { GroupOptions } from '../engine/job/job-options.ts'
export type { ErrorAnswer } from '../engine/work/decision.ts'
export type { StandardSchema } from '../engine/standard-schema.ts'
export type { AttemptAbortedError, AttemptSignal, JobAbortReason } from '../errors.ts'
export {
  JobChainFailedError,
  JobTypeValidationError,
  LeaseLostError,
  QueueFullError,
  RescheduleJobError,
  WaitForJobChainCompletionTimeoutError,
} from '../errors.ts'
